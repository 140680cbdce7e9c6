import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { address } from './address.ts';

export const base = '/_console_';

export interface Place {
  /** Below the base, percent-encoded as in the address: `/projects/demo`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** The current page. Changes by `navigate`, links, and the back button. */
export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const { pathname, search } = window.location;
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  return { path: below.replace(/\/+$/, '') || '/', query: new URLSearchParams(search) };
}

/** The address of a page: to`/projects/${project}/files`. Each value is one segment. */
export function to(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return base + address(parts, ...values);
}

/** @param href made by `to` or `samePage` */
export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  move(href, replace);
  if (!replace) window.scrollTo(0, 0);
}

/** The address of this page with another query. */
export function samePage(query: string): string {
  return `${window.location.pathname}${query === '' ? '' : `?${query}`}`;
}

/** Keeps the state of a page (a filter, an order) in its URL. An empty text removes a parameter. */
export function setQuery(changes: Readonly<Record<string, string>>, { replace = true } = {}): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  move(samePage(query.toString()), replace);
}

function move(href: string, replace: boolean): void {
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
  readonly section: 'projects' | 'tokens' | 'members' | 'webhooks' | 'usage' | 'account' | null;
  /** Shown without a session, and only without one. */
  readonly outside?: true;
  /** Shown with or without a session, in a frame of its own. */
  readonly either?: true;
}

/** @param pattern `/projects/:project/files`. null: the path does not match */
export function matchPath(pattern: string, path: string): Params | null {
  const found = new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`).exec(path);
  if (found === null) return null;
  try {
    const entries = Object.entries(found.groups ?? {});
    return Object.fromEntries(entries.map(([name, segment]) => [name, decodeURIComponent(segment)]));
  } catch {
    // invalid percent-encoding
    return null;
  }
}

/** Makes plain links to our own pages navigate without a reload. */
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
