import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isGrantedBeside } from '../granted.ts';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { countOf } from '../parts/format.ts';
import { type Pages, usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { toast } from '../parts/toast.tsx';
import { ProjectPage } from '../projects/frames.tsx';
import { type PageProps, to } from '../router.ts';
import { session } from '../session.ts';
import { ChooseFiles, DropZone } from './choose-files.tsx';
import {
  deleteFiles,
  deleteFolder,
  deleteNamed,
  type FileFilter,
  listFiles,
  type StoredFile,
} from './file-api.ts';
import { clearFilter, currentFilter, currentOrder, FilterRow, isFiltered } from './file-filter.tsx';
import { FileGrid } from './file-grid.tsx';
import { FileTable } from './file-table.tsx';
import { currentView, ViewSwitch } from './file-view.tsx';
import { FilesNav } from './files-nav.tsx';
import { FolderBar, FolderSelect } from './folder-bar.tsx';
import { shortFolder } from './folder-line.tsx';
import { PreviewDialog } from './preview-dialog.tsx';
import { type FileSelection, nothing, type Selecting, SelectionBar, useSelection } from './selection.tsx';
import { UploadPanel } from './upload-panel.tsx';
import { onStored } from './uploads.ts';
import { useGridPreset } from './use-grid-preset.ts';

export function FilesPage({ params }: PageProps): JSX.Element {
  const project = params.project ?? '';
  const filter = currentFilter();
  const filtered = isFiltered(filter);
  const order = currentOrder();
  const inputs = [project, order, ...Object.values(filter)];
  const files = usePages((after, signal) => listFiles(project, filter, { after, order, signal }), inputs);
  const items = files.items ?? [];
  const selecting = useSelection(items, inputs);
  const [open, setOpen] = useState<StoredFile | null>(null);
  const preset = useGridPreset(project, items.length > 0);
  useEffect(
    () =>
      onStored((where, file) => {
        // only the server knows whether it matches the filter, and its place in the order
        if (where !== project || file.state !== undefined) return;
        if (filtered || order !== 'newest') files.reload();
        else files.change((known) => [file, ...known.filter(({ name }) => name !== file.name)]);
      }),
    [project, filtered, order],
  );

  const remove = async (targets: FileSelection): Promise<void> => {
    const gone = await removeFiles(project, filter, files, targets);
    if (gone.size === 0) return;
    selecting.set(nothing);
    setOpen(null);
    if (items.every(({ name }) => gone.has(name))) files.reload();
    else files.change((known) => known.filter(({ name }) => !gone.has(name)));
  };
  const maySend = isGrantedBeside('files:write', { project });
  const mayDelete = isGrantedBeside('files:delete', { project });
  const empty = files.items?.length === 0 && !files.loading;
  const shown = {
    ...{ project, files: files.items, preset, selecting, onOpen: setOpen },
    onDelete: mayDelete ? ({ name }: StoredFile) => void remove(new Set([name])) : null,
  };

  return (
    <ProjectPage
      project={project}
      current="Files"
      actions={
        <>
          {isGrantedBeside('structure', { project }) && (
            <a class="button" href={to`/projects/${project}/files/rules`}>
              Preview the rules
            </a>
          )}
          {maySend && <ChooseFiles project={project} />}
        </>
      }
    >
      {maySend && <DropZone project={project} />}
      <UploadPanel project={project} />
      <FilesNav project={project} current="published" total={files.total} />
      {(filtered || !empty) && <FilterRow filter={filter} />}
      {filter.folder !== '' && (
        <FolderBar
          {...{ project, folder: filter.folder }}
          onDelete={mayDelete && !empty ? () => void removeFolder(project, filter.folder, files) : null}
        />
      )}
      {items.length > 0 && (
        <FilesBar
          {...{ files, selecting, folder: filter.folder }}
          onDelete={mayDelete ? () => void remove(selecting.selected) : null}
        />
      )}
      {empty ? (
        <NoFiles {...{ filtered, maySend }} />
      ) : (
        (files.items !== null || files.problem === null) &&
        (currentView() === 'grid' ? <FileGrid {...shown} /> : <FileTable {...shown} />)
      )}
      <More pages={files} />
      {open !== null && (
        <PreviewDialog
          project={project}
          file={open}
          onClose={() => setOpen(null)}
          onDelete={mayDelete ? () => void remove(new Set([open.name])) : null}
        />
      )}
    </ProjectPage>
  );
}

/** Deletes files after a confirmation. @returns the names of the deleted files: not all, if it was stopped */
async function removeFiles(
  project: string,
  filter: FileFilter,
  { items, total = 0 }: Pages<StoredFile>,
  targets: FileSelection,
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  const count = targets === 'all' ? total : targets.size;
  const first = items?.find(({ name }) => targets !== 'all' && targets.has(name));
  await confirmed({
    title: `Delete ${count === 1 && first ? first.originalName : countOf(count, 'file')}?`,
    body: `All links stop working. ${lossOf()}`,
    confirm: `Delete ${countOf(count, 'file')}`,
    async run(signal, progress) {
      const work = { signal, progress, onDeleted: (name: string) => void gone.add(name) };
      if (targets === 'all') return deleteFiles(project, filter, work);
      const left = [...targets].filter((name) => !gone.has(name));
      await deleteNamed(project, left, work);
    },
  });
  if (gone.size > 0) toast(`${countOf(gone.size, 'file')} deleted.`);
  return gone;
}

async function removeFolder(
  project: string,
  folder: string,
  { total = 0 }: Pages<StoredFile>,
): Promise<void> {
  const isDone = await confirmed({
    title: `Delete the folder ${shortFolder(folder)}?`,
    body: `All its files are deleted, and all links to them stop working. ${lossOf()}`,
    confirm: 'Delete the folder',
    run: (signal, progress) => deleteFolder({ project, folder, total }, { signal, progress }),
    done: 'Folder deleted.',
  });
  if (isDone) clearFilter();
}

interface FilesBarProps {
  readonly files: Pages<StoredFile>;
  readonly selecting: Selecting;
  /** Of the filter; empty: none. */
  readonly folder: string;
  /** Deletes the selected files. Null: not granted. */
  readonly onDelete: (() => void) | null;
}

/** Above the files: the selection, the folder and the view. */
function FilesBar({ files, selecting, folder, onDelete }: FilesBarProps): JSX.Element {
  const items = files.items ?? [];
  return (
    <div class="row apart">
      {onDelete === null ? (
        <span class="quiet">{countOf(files.total ?? items.length, 'file')}</span>
      ) : (
        <SelectionBar
          {...{ files, selecting }}
          actions={(count) => (
            <Button small onClick={onDelete}>
              Delete {count}
            </Button>
          )}
        />
      )}
      <div class="row">
        <FolderSelect {...{ items, folder }} />
        <ViewSwitch />
      </div>
    </div>
  );
}

/** What a deletion means. */
function lossOf(): string {
  const { trashDays = 0 } = session.value ?? {};
  return trashDays > 0
    ? `Files in the trash can be restored for ${countOf(trashDays, 'day')}.`
    : 'This can’t be undone.';
}

function NoFiles({
  filtered,
  maySend,
}: {
  readonly filtered: boolean;
  readonly maySend: boolean;
}): JSX.Element {
  return filtered ? (
    <EmptyState icon="search" title="No matching files">
      <p>Try part of the name, another type or other dates.</p>
      <Button onClick={clearFilter}>Clear the filter</Button>
    </EmptyState>
  ) : (
    <EmptyState icon="upload" title="No files yet">
      {maySend && (
        <p>Drop files or a folder here, or use the buttons above. The first file creates the project.</p>
      )}
    </EmptyState>
  );
}
