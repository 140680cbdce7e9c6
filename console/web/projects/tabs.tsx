import type { JSX } from 'preact';
import { to } from '../router.ts';

/** Links to several pages about one thing; one page is the current one. */
function Tabs({ label, links, current }: TabsProps): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {links.map(([key, text, href]) => (
        <a key={key} href={href} aria-current={key === current ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

interface TabsProps {
  readonly label: string;
  readonly links: readonly (readonly [key: string, text: string, href: string])[];
  readonly current: string;
}

interface ProjectTabsProps {
  readonly project: string;
  readonly current: 'spaces' | 'files';
}

export function ProjectTabs({ project, current }: ProjectTabsProps): JSX.Element {
  const links = [
    ['spaces', 'Record spaces', to`/projects/${project}`],
    ['files', 'Files', to`/projects/${project}/files`],
  ] as const;
  return <Tabs label="Project" links={links} current={current} />;
}

interface SpaceTabsProps {
  readonly project: string;
  readonly space: string;
  readonly current: 'records' | 'summary' | 'structure';
  /** The filters, which records and summary have in common. */
  readonly query?: string;
}

export function SpaceTabs({ project, space, current, query = '' }: SpaceTabsProps): JSX.Element {
  const search = query === '' ? '' : `?${query}`;
  const links = [
    ['records', 'Records', to`/projects/${project}/spaces/${space}` + search],
    ['summary', 'Summary', to`/projects/${project}/spaces/${space}/summary` + search],
    ['structure', 'Structure', to`/projects/${project}/spaces/${space}/structure`],
  ] as const;
  return <Tabs label="Record space" links={links} current={current} />;
}
