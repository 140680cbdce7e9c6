import type { JSX } from 'preact';
import { isGranted, isGrantedBeside, seesRecordSpaces } from '../granted.ts';
import { Page, type PageFrameProps } from '../parts/page.tsx';
import { to } from '../router.ts';
import type { Space } from './projects-api.ts';

type Link = readonly [text: string, href: string];

interface FrameProps extends Pick<PageFrameProps, 'actions' | 'intro' | 'full' | 'children'> {
  readonly project: string;
  /** The label of the open tab. */
  readonly current: string;
}

/** A page of a project, with links to its other ones. */
export function ProjectPage({ project, current, children, ...page }: FrameProps): JSX.Element {
  const tabs: readonly Link[] = [
    ...links(seesRecordSpaces(), ['Record spaces', to`/projects/${project}`]),
    ...links(isGrantedBeside('files:read', { project }), ['Files', to`/projects/${project}/files`]),
    ...links(isGrantedBeside('structure', { project }), ['File rules', to`/projects/${project}/files/rules`]),
    ...links(isGranted('structure', { project }, 'all spaces'), [
      'Presets',
      to`/projects/${project}/files/presets`,
    ]),
  ];
  return (
    <Page title={project} crumbs={[['Projects', to`/projects`]]} {...page}>
      <Tabs label="Project" {...{ tabs, current }} />
      {children}
    </Page>
  );
}

interface SpacePageProps extends FrameProps {
  readonly space: string;
  /** null while it is loaded. */
  readonly structure: Space | null;
  /** The filters, which records and summary share. */
  readonly query?: string;
}

/** A page of a record space, with links to its other ones. */
export function SpacePage(props: SpacePageProps): JSX.Element {
  const { project, space, structure, current, query = '', children, ...page } = props;
  const search = query === '' ? '' : `?${query}`;
  const tabs: readonly Link[] = [
    ['Records', to`/projects/${project}/spaces/${space}` + search],
    ['Summary', to`/projects/${project}/spaces/${space}/summary` + search],
    ['Structure', to`/projects/${project}/spaces/${space}/structure`],
    ...links(isGranted('structure', { project, space }), [
      'Rules',
      to`/projects/${project}/spaces/${space}/rules`,
    ]),
  ];
  const crumbs: readonly Link[] = [
    ['Projects', to`/projects`],
    [project, to`/projects/${project}`],
  ];
  return (
    <Page title={structure?.name || space} {...{ crumbs, ...page }}>
      <Tabs label="Record space" {...{ tabs, current }} />
      {children}
    </Page>
  );
}

function links(shown: boolean, link: Link): readonly Link[] {
  return shown ? [link] : [];
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Link[];
  readonly current: string;
}

function Tabs({ label, tabs, current }: TabsProps): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([text, href]) => (
        <a key={text} href={href} aria-current={text === current ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
