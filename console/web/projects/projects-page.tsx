import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { address } from '../address.ts';
import { deleteFiles, noFilter } from '../files/file-api.ts';
import { isGranted, isGrantedBeside, seesRecordSpaces } from '../granted.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { SearchField } from '../parts/field.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { place, setQuery, to } from '../router.ts';
import { NewProjectDialog } from './new-project-dialog.tsx';
import { drop, listProjects, type Project } from './projects-api.ts';

export function ProjectsPage(): JSX.Element {
  const pages = usePages(listProjects, []);
  const [creating, setCreating] = useState(false);
  const search = place.value.query.get('search') ?? '';
  // an account has at most a thousand projects, so the search runs here
  useEffect(() => {
    if (search !== '') pages.loadMore();
  }, [search, pages.items]);
  const found = pages.items?.filter(({ slug }) => slug.toLowerCase().includes(search.trim().toLowerCase()));

  const dropIfConfirmed = async (project: Project): Promise<void> => {
    const dropped = await confirmed({
      title: `Drop the project ${project.slug}?`,
      body: `This deletes all its files, then ${countOf(project.spaces, 'record space')} with all records. Thousands of files take a while. This can’t be undone.`,
      confirm: 'Drop the project',
      typed: project.slug,
      async run(signal, progress) {
        await deleteFiles(project.slug, noFilter, { signal, progress });
        await drop(address`/${project.slug}`);
      },
      done: `Project ${project.slug} dropped.`,
    });
    if (dropped) pages.change((projects) => projects.filter(({ slug }) => slug !== project.slug));
  };

  const mayDrop = (pages.items ?? []).some(
    ({ slug: project }) =>
      isGranted('structure', { project }, 'all spaces') && isGrantedBeside('files:delete', { project }),
  );
  const columns: readonly Column<Project>[] = [
    {
      label: 'Project',
      cell: ({ slug }) => (
        <a href={seesRecordSpaces() ? to`/projects/${slug}` : to`/projects/${slug}/files`}>{slug}</a>
      ),
    },
    { label: 'Record spaces', numeric: true, cell: ({ spaces }) => formatNumber(spaces) },
    { label: 'Created', cell: ({ createdAt }) => <Time date={createdAt} /> },
    ...(mayDrop
      ? [
          toolsColumn<Project>((project) => (
            <IconButton
              icon="trash"
              label={`Drop ${project.slug}`}
              onClick={() => void dropIfConfirmed(project)}
            />
          )),
        ]
      : []),
  ];

  const createButton = isGranted('structure') && (
    <Button icon="plus" kind="primary" onClick={() => setCreating(true)}>
      New project
    </Button>
  );
  return (
    <Page title="Projects" intro="A project holds record spaces and files." actions={createButton}>
      {pages.items?.length !== 0 && (
        <div class="list-tools">
          <SearchField
            label="Search projects"
            value={search}
            onInput={(text) => setQuery({ search: text })}
          />
        </div>
      )}
      {pages.items?.length === 0 ? (
        <EmptyState icon="projects" title="No projects yet">
          <p>
            {createButton
              ? 'Create one here. Storing a record or a file also creates its project.'
              : 'Your grants in this account cover no project that exists.'}
          </p>
          {createButton}
        </EmptyState>
      ) : found?.length === 0 && !pages.hasMore ? (
        <p role="status">No project’s name contains “{search}”.</p>
      ) : (
        <DataTable caption="Projects" columns={columns} rows={found ?? null} rowKey={({ slug }) => slug} />
      )}
      <More pages={pages} />
      {creating && <NewProjectDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}
