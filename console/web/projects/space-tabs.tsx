import type { JSX } from 'preact';
import { to } from '../router.ts';

/** The two sides of a record space. */
export function SpaceTabs({
  project,
  space,
  current,
}: {
  readonly project: string;
  readonly space: string;
  readonly current: 'records' | 'structure';
}): JSX.Element {
  return (
    <nav class="tabs" aria-label="Record space">
      <a
        href={to`/projects/${project}/spaces/${space}`}
        aria-current={current === 'records' ? 'page' : undefined}
      >
        Records
      </a>
      <a
        href={to`/projects/${project}/spaces/${space}/structure`}
        aria-current={current === 'structure' ? 'page' : undefined}
      >
        Structure
      </a>
    </nav>
  );
}
