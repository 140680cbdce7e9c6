import type { JSX } from 'preact';
import { isGrantedBeside } from '../granted.ts';
import { Button } from '../parts/button.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { countOf } from '../parts/format.ts';
import type { IconName } from '../parts/icon.tsx';
import { usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { ProjectPage } from '../projects/frames.tsx';
import type { PageProps } from '../router.ts';
import { session } from '../session.ts';
import { type HiddenKind, listFiles } from './file-api.ts';
import { clearFilter, currentFilter, currentOrder, FilterRow, isFiltered } from './file-filter.tsx';
import { FilesNav } from './files-nav.tsx';
import { type HeldFileActions, heldFileColumns } from './held-file-columns.tsx';
import { type HeldFiles, removeForGood, restore, type Work } from './held-file-work.ts';
import { type FileSelection, nothing, SelectionBar, useSelection } from './selection.tsx';

interface Texts {
  readonly intro: string;
  readonly none: string;
  readonly icon: IconName;
}

function textsOf(kind: HiddenKind): Texts {
  const { trashDays = 0 } = session.value ?? {};
  if (kind === 'trashed')
    return {
      intro:
        trashDays > 0
          ? `Deleted files can be restored for ${countOf(trashDays, 'day')}. Until then they count towards the storage.`
          : 'Deleted files that can still be restored.',
      none: 'The trash is empty',
      icon: 'trash',
    };
  if (kind === 'checking')
    return {
      intro: 'A scanner has not looked at these files yet. Until then, only this account can download them.',
      none: 'No file is being checked',
      icon: 'search',
    };
  return {
    intro: 'A scanner found something in these files. Nobody can download them.',
    none: 'No file is in quarantine',
    icon: 'warning',
  };
}

const captions = {
  trashed: 'Files in the trash',
  checking: 'Files that are being checked',
  refused: 'Files in quarantine',
} as const;

export const TrashPage = pageOf('trashed');
export const CheckingPage = pageOf('checking');
export const QuarantinePage = pageOf('refused');

function pageOf(kind: HiddenKind): (props: PageProps) => JSX.Element {
  return ({ params: { project = '' } }) => <HeldFilesView key={kind} {...{ project, kind }} />;
}

/** Files that are kept, but not shown: they have no preview and no links. */
function HeldFilesView({ project, kind }: HeldFiles): JSX.Element {
  const filter = currentFilter();
  const order = currentOrder();
  const inputs = [project, kind, order, ...Object.values(filter)];
  const files = usePages(
    (after, signal) => listFiles(project, filter, { after, order, hidden: kind, signal }),
    inputs,
  );
  const items = files.items ?? [];
  const selecting = useSelection(items, inputs);
  const change = async (work: Work, targets: FileSelection): Promise<void> => {
    const gone = await work({ project, kind, files, targets });
    if (gone.size === 0) return;
    selecting.set(nothing);
    if (items.every(({ name }) => gone.has(name))) files.reload();
    else files.change((known) => known.filter(({ name }) => !gone.has(name)));
  };
  const mayDelete = isGrantedBeside('files:delete', { project });
  const filtered = isFiltered(filter);
  const empty = files.items?.length === 0 && !files.loading;
  const { intro, none, icon } = textsOf(kind);
  const act = (work: Work) => (mayDelete ? (targets: FileSelection) => void change(work, targets) : null);
  const actions = { restore: kind === 'trashed' ? act(restore) : null, remove: act(removeForGood) };
  return (
    <ProjectPage project={project} current="Files" intro={intro}>
      <FilesNav project={project} current={kind} total={files.total} />
      {(filtered || !empty) && <FilterRow filter={filter} />}
      {mayDelete && items.length > 0 && (
        <SelectionBar
          {...{ files, selecting }}
          actions={(count) => <SelectionActions {...{ ...actions, count }} targets={selecting.selected} />}
        />
      )}
      {empty ? (
        <EmptyState icon={filtered ? 'search' : icon} title={filtered ? 'No matching files' : none}>
          {filtered && <Button onClick={clearFilter}>Clear the filter</Button>}
        </EmptyState>
      ) : (
        (files.items !== null || files.problem === null) && (
          <DataTable
            cards="plain"
            caption={captions[kind]}
            columns={heldFileColumns({ kind, selecting, ...actions })}
            rows={files.items}
            rowKey={({ name }) => name}
          />
        )
      )}
      <More pages={files} />
    </ProjectPage>
  );
}

function SelectionActions({
  restore,
  remove,
  count,
  targets,
}: HeldFileActions & { readonly count: string; readonly targets: FileSelection }): JSX.Element {
  return (
    <>
      {restore !== null && (
        <Button small onClick={() => restore(targets)}>
          Restore {count}
        </Button>
      )}
      {remove !== null && (
        <Button small onClick={() => remove(targets)}>
          Delete {count} for good
        </Button>
      )}
    </>
  );
}
