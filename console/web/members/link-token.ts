let token: string | null = null;

/**
 * Takes the token of a link out of the address, before anything else can see it. It is in the fragment, which browsers send
 * to nobody, and is kept in memory until the page is closed.
 */
export function takeLink(): void {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith('#sluice_link_')) return;
  token = hash.slice(1);
  window.history.replaceState(null, '', `${pathname}${search}`);
}

/** Null: the page was not opened by a link, or was loaded again. */
export function linkToken(): string | null {
  return token;
}
