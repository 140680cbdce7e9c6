import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { NoMember } from './members/no-member.tsx';
import { Button } from './parts/button.tsx';
import { ConfirmHost } from './parts/confirm-host.tsx';
import { useLoad } from './parts/load.ts';
import { Catch, ProblemNote } from './parts/problem-note.tsx';
import { Shell } from './parts/shell.tsx';
import { Toasts } from './parts/toast.tsx';
import { matchPath, navigate, place, type Route, to } from './router.ts';
import { routes } from './routes.tsx';
import { loadSession, session } from './session.ts';

export function App(): JSX.Element {
  return (
    <>
      <Start />
      <ConfirmHost />
      <Toasts />
    </>
  );
}

/** Loads the session, then shows the page. */
function Start(): JSX.Element {
  const { problem, reload } = useLoad(loadSession, []);
  if (problem !== null) {
    return (
      <main class="outside">
        <ProblemNote problem={problem} />
        <Button onClick={reload}>Try again</Button>
      </main>
    );
  }
  if (session.value === null) return <div aria-busy="true" />;
  return <Pages />;
}

function Pages(): JSX.Element | null {
  const { path } = place.value;
  const inside = Boolean(session.value?.account);
  const found = findRoute(path);
  const redirect = redirection(path, inside, found?.route);
  useEffect(() => {
    if (redirect !== null) navigate(redirect, { replace: true });
  }, [redirect]);
  useFocusOnHeading(redirect === null ? path : null);
  if (redirect !== null) return null;
  if (inside && session.value?.acting === null && !found?.route.either) return <NoMember />;
  // keyed by account and path, so that another project starts with fresh state
  const page = (
    <Catch key={`${session.value?.acting?.id} ${path}`}>
      {found === null ? <NotFound /> : <found.route.page params={found.params} />}
    </Catch>
  );
  return inside && !found?.route.either ? <Shell section={found?.route.section ?? null}>{page}</Shell> : page;
}

function findRoute(path: string): { route: Route; params: Readonly<Record<string, string>> } | null {
  for (const route of routes) {
    const params = matchPath(route.pattern, path);
    if (params !== null) return { route, params };
  }
  return null;
}

/** The address to redirect to; null: stay. */
function redirection(path: string, inside: boolean, route: Route | undefined): string | null {
  if (route?.either) return null;
  if (inside) {
    if (path === '/') return to`/projects`;
    if (route?.outside === undefined) return null;
    // only to our own pages: `next` may come from outside
    const next = place.value.query.get('next') ?? '/projects';
    return to`` + (next.startsWith('/') && !next.startsWith('//') ? next : '/projects');
  }
  if (route?.outside !== undefined) return null;
  const { canRegister = false, canClaim = false } = session.value ?? {};
  if ((canRegister || canClaim) && path === '/') return to`/register`;
  if (path === '/') return to`/login`;
  return `${to`/login`}?next=${encodeURIComponent(`${path}${window.location.search}`)}`;
}

/** Moves the focus to the heading of a new page, for screen readers and the keyboard. */
function useFocusOnHeading(path: string | null): void {
  const last = useRef<string | null>(null);
  // before paint: later, it could undo a press of Tab
  useLayoutEffect(() => {
    if (path === null) return;
    const first = last.current === null;
    if (last.current === path) return;
    last.current = path;
    // a field with autofocus keeps it
    if (first || document.activeElement?.matches('input, select, textarea')) return;
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  }, [path]);
}

function NotFound(): JSX.Element {
  return (
    <main class="outside" id="main">
      <h1 tabIndex={-1}>Page not found</h1>
      <p>
        The address may be wrong, or the page may have moved. <a href={to`/projects`}>Go to your projects</a>
      </p>
    </main>
  );
}
