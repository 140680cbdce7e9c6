import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isGranted } from '../granted.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { SearchField } from '../parts/field.tsx';
import { formatBytes, formatNumber } from '../parts/format.ts';
import { usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { Time } from '../parts/time.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { type PageProps, place, setQuery, to } from '../router.ts';
import { dropSpaceIfConfirmed } from './drop-space-if-confirmed.ts';
import { ProjectPage } from './frames.tsx';
import { NewSpaceDialog } from './new-space-dialog.tsx';
import { listSpaces, type Space } from './projects-api.ts';

const settleMs = 250;

export function SpacesPage({ params: { project = '' } }: PageProps): JSX.Element {
  const search = place.value.query.get('search') ?? '';
  const draft = useDraft(search, (text) => setQuery({ search: text }), settleMs);
  const term = search.trim();
  const pages = usePages((after, signal) => listSpaces(project, term, after, signal), [project, term]);
  const [creating, setCreating] = useState(false);
  const none = pages.items?.length === 0;
  const missing = pages.problem?.status === 404;

  const drop = async (space: Space): Promise<void> => {
    if (await dropSpaceIfConfirmed(project, space.slug))
      pages.change((spaces) => spaces.filter(({ slug }) => slug !== space.slug));
  };

  const mayChange = isGranted('structure', { project });
  const createButton = mayChange && (
    <Button icon="plus" kind="primary" onClick={() => setCreating(true)}>
      New record space
    </Button>
  );
  return (
    <ProjectPage project={project} current="Record spaces" actions={createButton}>
      {!missing && (!none || term !== '') && (
        <div class="list-tools">
          <SearchField label="Search record spaces" value={draft.text} onInput={draft.setText} />
        </div>
      )}
      {missing || (none && term === '') ? (
        <EmptyState
          icon="projects"
          title={missing ? `There is no project ${project}` : 'No record spaces yet'}
        >
          <p>
            {missing && 'The first record space or file creates it. '}A record space is a list of records with
            the same fields, such as People or Orders.
          </p>
          {createButton}
        </EmptyState>
      ) : none ? (
        <p role="status">No record space’s name contains “{term}”.</p>
      ) : (
        <DataTable
          caption={`Record spaces of ${project}`}
          columns={spaceColumns(
            project,
            mayChange ? drop : null,
            pages.items?.some(({ store }) => store !== null),
          )}
          rows={pages.items}
          rowKey={({ slug }) => slug}
        />
      )}
      {!missing && <More pages={pages} />}
      {creating && <NewSpaceDialog project={project} onClose={() => setCreating(false)} />}
    </ProjectPage>
  );
}

const storeColumn: Column<Space> = {
  label: 'Store',
  cell: ({ store }) => (
    <>
      {store?.name}
      {store?.available === false && <span class="quiet"> is unavailable</span>}
    </>
  ),
};

function spaceColumns(
  project: string,
  drop: ((space: Space) => Promise<void>) | null,
  severalStores = false,
): readonly Column<Space>[] {
  return [
    {
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
    {
      label: 'Records',
      numeric: true,
      cell: ({ records }) => (records === null ? '–' : formatNumber(records)),
    },
    { label: 'Size', numeric: true, cell: ({ bytes }) => (bytes === null ? '–' : formatBytes(bytes)) },
    ...(severalStores ? [storeColumn] : []),
    { label: 'Created', cell: ({ createdAt }) => <Time date={createdAt} /> },
    ...(drop === null
      ? []
      : [
          toolsColumn<Space>((space) => (
            <IconButton icon="trash" label={`Drop ${space.slug}`} onClick={() => void drop(space)} />
          )),
        ]),
  ];
}
