import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { TextField } from '../parts/field.tsx';
import { formatBytes, formatNumber } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { ProjectTabs } from '../parts/project-tabs.tsx';
import { place, setQuery, to } from '../router.ts';
import type { PageProps } from '../routes.tsx';
import { madeAndDrop } from './columns.tsx';
import { dropSpaceIfConfirmed } from './drop-space.tsx';
import { NewSpaceDialog } from './new-space-dialog.tsx';
import { listSpaces, type Space } from './projects-api.ts';

const settleMs = 250;

/** The text once nobody has typed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setSettled, settleMs, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function SpacesPage({ params: { project = '' } }: PageProps): JSX.Element {
  const search = place.value.query.get('search') ?? '';
  const asked = useSettled(search.trim());
  const pages = usePages((after, signal) => listSpaces(project, asked, after, signal), [project, asked]);
  const [making, setMaking] = useState(false);
  const none = pages.items?.length === 0;
  // a project that is not there yet begins with its first space
  const missing = pages.problem?.status === 404;

  const drop = async (space: Space): Promise<void> => {
    if (await dropSpaceIfConfirmed(project, space.slug))
      pages.change((spaces) => spaces.filter(({ slug }) => slug !== space.slug));
  };

  const makeButton = (
    <Button kind="primary" onClick={() => setMaking(true)}>
      <Icon name="plus" /> New record space
    </Button>
  );
  return (
    <Page title={project} crumbs={[{ label: 'Projects', href: to`/projects` }]} actions={makeButton}>
      <ProjectTabs project={project} current="spaces" />
      {!missing && (!none || asked !== '') && (
        <div class="list-tools">
          <TextField
            label="Search record spaces"
            hideLabel
            type="search"
            maxLength={200}
            placeholder="Search record spaces"
            value={search}
            onInput={(text) => setQuery({ search: text === '' ? null : text })}
          />
        </div>
      )}
      {missing || (none && asked === '') ? (
        <EmptyState icon="projects" title="No record spaces yet">
          <p>A record space is a list of records with the same fields, such as People or Orders.</p>
          {makeButton}
        </EmptyState>
      ) : none ? (
        <p role="status">No record space’s name contains “{asked}”.</p>
      ) : (
        <DataTable
          caption={`Record spaces of ${project}`}
          columns={spaceColumns(project, (space) => void drop(space))}
          rows={pages.items}
          rowKey={({ slug }) => slug}
        />
      )}
      {!missing && <More pages={pages} />}
      {making && <NewSpaceDialog project={project} onClose={() => setMaking(false)} />}
    </Page>
  );
}

function spaceColumns(project: string, drop: (space: Space) => void): readonly Column<Space>[] {
  return [
    {
      key: 'slug',
      label: 'Record space',
      cell: ({ slug, name, description }) => (
        <>
          <a href={to`/projects/${project}/spaces/${slug}`}>{slug}</a>
          {name.toLowerCase() !== slug && <span class="quiet"> {name}</span>}
          {description !== '' && <div class="quiet">{description}</div>}
        </>
      ),
    },
    {
      key: 'fields',
      label: 'Fields',
      numeric: true,
      cell: ({ slug, fields }) => (
        <a
          href={to`/projects/${project}/spaces/${slug}/structure`}
          aria-label={`${fields.length} fields of ${slug}`}
        >
          {formatNumber(fields.length)}
        </a>
      ),
    },
    { key: 'records', label: 'Records', numeric: true, cell: ({ records }) => formatNumber(records) },
    { key: 'bytes', label: 'Size', numeric: true, cell: ({ bytes }) => formatBytes(bytes) },
    ...madeAndDrop(drop),
  ];
}
