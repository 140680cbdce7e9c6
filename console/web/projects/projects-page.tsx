import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { TextField } from '../parts/field.tsx';
import { formatNumber } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { place, setQuery, to } from '../router.ts';
import { madeAndDrop } from './columns.tsx';
import { NewProjectDialog } from './new-project-dialog.tsx';
import { dropProject, listProjects, type Project } from './projects-api.ts';

export function ProjectsPage(): JSX.Element {
  const pages = usePages(listProjects, []);
  const [making, setMaking] = useState(false);
  const search = place.value.query.get('search') ?? '';
  // an account has a thousand projects at most: all of them are looked through here
  useEffect(() => {
    if (search !== '') pages.loadMore();
  }, [search, pages.items]);
  const found = pages.items?.filter(({ slug }) => slug.toLowerCase().includes(search.trim().toLowerCase()));

  const drop = async (project: Project): Promise<void> => {
    const agreed = await confirmed({
      title: `Drop the project ${project.slug}?`,
      body: (
        <p>
          {project.spaces === 0
            ? 'It has no record spaces.'
            : `Its record spaces (${formatNumber(project.spaces)}) and all their records are deleted.`}{' '}
          Nobody can undo this. A project that has files is not dropped: delete its files first.
        </p>
      ),
      confirm: 'Drop the project',
      typed: project.slug,
    });
    if (!agreed) return;
    try {
      await dropProject(project.slug);
      pages.change((projects) => projects.filter(({ slug }) => slug !== project.slug));
      toast(`The project ${project.slug} is dropped.`);
    } catch (thrown) {
      toastProblem(thrown);
    }
  };

  const columns: readonly Column<Project>[] = [
    {
      key: 'slug',
      label: 'Project',
      cell: ({ slug }) => <a href={to`/projects/${slug}`}>{slug}</a>,
    },
    { key: 'spaces', label: 'Record spaces', numeric: true, cell: ({ spaces }) => formatNumber(spaces) },
    ...madeAndDrop<Project>((project) => void drop(project)),
  ];

  return (
    <Page
      title="Projects"
      intro="A project holds record spaces and files."
      actions={
        <Button kind="primary" onClick={() => setMaking(true)}>
          <Icon name="plus" /> New project
        </Button>
      }
    >
      {pages.items?.length !== 0 && (
        <div class="list-tools">
          <TextField
            label="Search projects"
            hideLabel
            type="search"
            maxLength={200}
            placeholder="Search projects"
            value={search}
            onInput={(text) => setQuery({ search: text === '' ? null : text })}
          />
        </div>
      )}
      {pages.items?.length === 0 ? (
        <EmptyState icon="projects" title="No projects yet">
          <p>Make the first one here. The API makes one, too, with the first record or file that names it.</p>
          <Button kind="primary" onClick={() => setMaking(true)}>
            <Icon name="plus" /> New project
          </Button>
        </EmptyState>
      ) : found?.length === 0 && !pages.hasMore ? (
        <p role="status">No project’s name contains “{search}”.</p>
      ) : (
        <DataTable caption="Projects" columns={columns} rows={found ?? null} rowKey={({ slug }) => slug} />
      )}
      <More pages={pages} />
      {making && <NewProjectDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}
