import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { isGranted } from '../granted.ts';
import { Button } from '../parts/button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { SpacePage } from '../projects/frames.tsx';
import { getSpace, type Space } from '../projects/projects-api.ts';
import { type PageProps, place, to } from '../router.ts';
import { ImportDialog } from './import-dialog.tsx';
import { queryOfView, viewOfQuery } from './record-view.ts';
import { RecordsApi } from './records-api.ts';
import { type OpenDialog, RecordsTable } from './records-table.tsx';

export function RecordsPage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const api = useMemo(() => new RecordsApi(project, space), [project, space]);
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const structure = loaded.data;
  const { reload } = loaded;
  const mayInsert = isGranted('insert', { project, space });
  const query = queryOfView(viewOfQuery(place.value.query));
  return (
    <SpacePage
      {...{ project, space, structure, query }}
      current="Records"
      full
      actions={<Actions {...{ mayInsert }} space={structure} open={setDialog} />}
    >
      <div class="records">
        {loaded.problem !== null ? (
          <ProblemNote problem={loaded.problem} onRetry={reload} />
        ) : structure === null ? (
          <Skeleton lines={8} />
        ) : structure.fields.length === 0 ? (
          <EmptyState icon="projects" title="No fields yet">
            {mayInsert && isGranted('structure', { project, space }) && (
              <>
                <p>Add fields, or import a file whose columns become fields.</p>
                <div class="row">
                  <a class="button primary" href={to`/projects/${project}/spaces/${space}/structure`}>
                    Go to the structure
                  </a>
                  <Button onClick={() => setDialog('import')}>Import a file</Button>
                </div>
              </>
            )}
          </EmptyState>
        ) : (
          <RecordsTable {...{ project, api, dialog, setDialog, reload }} space={structure} />
        )}
      </div>
      {dialog === 'import' && structure !== null && (
        <ImportDialog
          project={project}
          space={structure}
          onClose={() => setDialog(null)}
          onImported={reload}
        />
      )}
    </SpacePage>
  );
}

interface ActionsProps {
  readonly space: Space | null;
  readonly mayInsert: boolean;
  readonly open: (dialog: OpenDialog) => void;
}

function Actions({ space, mayInsert, open }: ActionsProps): JSX.Element {
  const disabled = space === null || space.fields.length === 0;
  return (
    <>
      <Button icon="text" disabled={disabled} onClick={() => open('code')}>
        Code
      </Button>
      {mayInsert && (
        <Button icon="upload" disabled={space === null} onClick={() => open('import')}>
          Import
        </Button>
      )}
      <Button icon="download" disabled={disabled} onClick={() => open('export')}>
        Export
      </Button>
      {mayInsert && (
        <Button icon="plus" kind="primary" disabled={disabled} onClick={() => open('add')}>
          Add a record
        </Button>
      )}
    </>
  );
}
