import type { JSX } from 'preact';
import { to } from '../router.ts';

/** The two halves of a project. */
export function ProjectTabs({
  project,
  current,
}: {
  readonly project: string;
  readonly current: 'spaces' | 'files';
}): JSX.Element {
  return (
    <nav class="tabs" aria-label="Project">
      <a href={to`/projects/${project}`} aria-current={current === 'spaces' ? 'page' : undefined}>
        Record spaces
      </a>
      <a href={to`/projects/${project}/files`} aria-current={current === 'files' ? 'page' : undefined}>
        Files
      </a>
    </nav>
  );
}
