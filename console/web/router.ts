import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

export const base = '/_console_';

export interface Place {
  /** Below the base, percent-encoded as in the address: `/projects/demo`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Where we are. Changes by `navigate`, by links, and by the back button. */
export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const { pathname, search } = window.location;
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return { path: below.replace(/\/+$/, '') || '/', query: new URLSearchParams(search) };
}

/** The address of a page: to`/projects/${project}/files`. Each value is one segment. */
export function to(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return (
    base + parts.reduce((path, part, index) => `${path}${encodeURIComponent(values[index - 1] ?? '')}${part}`)
  );
}

/** @param href made by `to`, with a query perhaps */
export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, '', href);
  else window.history.pushState(null, '', href);
  place.value = readPlace();
  if (!replace) window.scrollTo(0, 0);
}

/** Keeps what a page shows (a filter, an order) in its address. null takes a parameter away. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  { replace = true }: { replace?: boolean } = {},
): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const search = query.toString();
  const href = `${window.location.pathname}${search === '' ? '' : `?${search}`}`;
  if (replace) window.history.replaceState(null, '', href);
  else window.history.pushState(null, '', href);
  place.value = readPlace();
}

export type Params = Readonly<Record<string, string>>;

export interface PageProps {
  readonly params: Params;
}

export interface Route {
  /** Below /_console_; `:name` is one segment, decoded in `params`. */
  readonly pattern: string;
  readonly page: ComponentType<PageProps>;
  /** The entry of the navigation that it belongs to. */
  readonly section: 'projects' | 'tokens' | 'webhooks' | 'usage' | 'account' | null;
  /** Shown without a session, and only without one. */
  readonly outside?: true;
}

/** @param pattern `/projects/:project/files`. null when the path is another one */
export function matchPath(pattern: string, path: string): Params | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const segment = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== segment) return null;
      continue;
    }
    try {
      params[part.slice(1)] = decodeURIComponent(segment);
    } catch {
      return null;
    }
    if (segment === '') return null;
  }
  return params;
}

/** Plain `<a href>` to our own pages changes the page without loading it anew. */
export function startRouter(): void {
  window.addEventListener('popstate', () => {
    place.value = readPlace();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    if (link.origin !== window.location.origin) return;
    if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return;
    // a place on this page, such as the skip link
    if (link.hash !== '' && link.pathname === window.location.pathname) return;
    event.preventDefault();
    navigate(link.href);
  });
}
