import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { getSpace, type Space } from '../projects/projects-api.ts';
import { SpaceTabs } from '../projects/space-tabs.tsx';
import { to } from '../router.ts';
import type { PageProps } from '../routes.tsx';
import { RecordsApi } from './records-api.ts';
import { RecordsTable } from './records-table.tsx';

/** What is open above the table. */
export type OpenDialog = 'add' | 'import' | 'export' | 'code' | null;

/** The records of a space. */
export function RecordsPage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const api = useMemo(() => new RecordsApi(project, space), [project, space]);
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const structure = loaded.data;
  const usable = structure !== null && structure.fields.length > 0;
  return (
    <Page
      title={structure?.name || space}
      full
      crumbs={[
        { label: 'Projects', href: to`/projects` },
        { label: project, href: to`/projects/${project}` },
      ]}
      actions={<Actions disabled={!usable} open={setDialog} />}
    >
      <SpaceTabs project={project} space={space} current="records" />
      <div class="records">
        {loaded.problem !== null ? (
          <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />
        ) : structure === null ? (
          <Skeleton lines={8} />
        ) : (
          <Records project={project} space={structure} api={api} dialog={dialog} setDialog={setDialog} />
        )}
      </div>
    </Page>
  );
}

interface RecordsProps {
  readonly project: string;
  readonly space: Space;
  readonly api: RecordsApi;
  readonly dialog: OpenDialog;
  readonly setDialog: (dialog: OpenDialog) => void;
}

function Records(props: RecordsProps): JSX.Element {
  const { project, space } = props;
  // a space without fields has nothing that a form could be made of
  useEffect(() => {
    if (space.fields.length === 0) props.setDialog(null);
  }, [space]);
  if (space.fields.length > 0) return <RecordsTable {...props} />;
  return (
    <div class="empty">
      <Icon name="projects" />
      <h2>No fields yet</h2>
      <div class="stack">
        <p>Records need fields: say first what a record of this space has.</p>
        <a class="button primary" href={to`/projects/${project}/spaces/${space.slug}/structure`}>
          Go to the structure
        </a>
      </div>
    </div>
  );
}

function Actions({
  disabled,
  open,
}: {
  readonly disabled: boolean;
  readonly open: (dialog: OpenDialog) => void;
}): JSX.Element {
  return (
    <>
      <Button disabled={disabled} onClick={() => open('code')}>
        <Icon name="text" /> Code
      </Button>
      <Button disabled={disabled} onClick={() => open('import')}>
        <Icon name="upload" /> Import
      </Button>
      <Button disabled={disabled} onClick={() => open('export')}>
        <Icon name="download" /> Export
      </Button>
      <Button kind="primary" disabled={disabled} onClick={() => open('add')}>
        <Icon name="plus" /> Add a record
      </Button>
    </>
  );
}
