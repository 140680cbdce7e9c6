import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isGrantedBeside } from '../granted.ts';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { CheckboxField } from '../parts/field.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { type Pages, usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { toast } from '../parts/toast.tsx';
import { ProjectPage } from '../projects/frames.tsx';
import { type PageProps, to } from '../router.ts';
import { ChooseFiles, DropZone } from './choose-files.tsx';
import { deleteFiles, deleteNamed, type FileFilter, listFiles, type StoredFile } from './file-api.ts';
import { clearFilter, currentFilter, currentOrder, FilterRow, isFiltered } from './file-filter.tsx';
import { type FileSelection, FileTable } from './file-table.tsx';
import { PreviewDialog } from './preview-dialog.tsx';
import { UploadPanel } from './upload-panel.tsx';
import { onStored } from './uploads.ts';

const nothing: FileSelection = new Set();

export function FilesPage({ params }: PageProps): JSX.Element {
  const project = params.project ?? '';
  const filter = currentFilter();
  const filtered = isFiltered(filter);
  const order = currentOrder();
  const inputs = [project, order, ...Object.values(filter)];
  const files = usePages((after, signal) => listFiles(project, filter, { after, order, signal }), inputs);
  const [selected, setSelected] = useState<FileSelection>(nothing);
  const [open, setOpen] = useState<StoredFile | null>(null);
  useEffect(() => setSelected(nothing), inputs);
  useEffect(
    () =>
      onStored((where, file) => {
        // only the server knows whether it matches the filter, and its place in the order
        if (where !== project) return;
        if (filtered || order !== 'newest') files.reload();
        else files.change((known) => [file, ...known.filter(({ name }) => name !== file.name)]);
      }),
    [project, filtered, order],
  );

  const items = files.items ?? [];
  const select = (name: string, on: boolean): void => {
    const next = new Set(selected === 'all' ? items.map((file) => file.name) : selected);
    if (on) next.add(name);
    else next.delete(name);
    setSelected(next);
  };
  const remove = async (targets: FileSelection): Promise<void> => {
    const gone = await removeFiles(project, filter, files, targets);
    if (gone.size === 0) return;
    setSelected(nothing);
    setOpen(null);
    if (items.every(({ name }) => gone.has(name))) files.reload();
    else files.change((known) => known.filter(({ name }) => !gone.has(name)));
  };
  const maySend = isGrantedBeside('files:write', { project });
  const mayDelete = isGrantedBeside('files:delete', { project });
  const empty = files.items?.length === 0 && !files.loading;

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
      {(filtered || !empty) && <FilterRow filter={filter} />}
      {mayDelete && items.length > 0 && (
        <SelectionBar
          files={files}
          selected={selected}
          onSelect={setSelected}
          onDelete={() => void remove(selected)}
        />
      )}
      {empty ? (
        <NoFiles {...{ filtered, maySend }} />
      ) : (
        (files.items !== null || files.problem === null) && (
          <FileTable
            project={project}
            files={files.items}
            selected={selected}
            onSelect={select}
            onOpen={setOpen}
            onDelete={mayDelete ? ({ name }) => void remove(new Set([name])) : null}
          />
        )
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
    body: 'All links stop working. This can’t be undone.',
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

interface SelectionBarProps {
  readonly files: Pages<StoredFile>;
  readonly selected: FileSelection;
  readonly onSelect: (selected: FileSelection) => void;
  readonly onDelete: () => void;
}

function SelectionBar({ files, selected, onSelect, onDelete }: SelectionBarProps): JSX.Element {
  const { items, total = 0 } = files;
  const shown = items?.length ?? 0;
  const count = selected === 'all' ? total : selected.size;
  return (
    <fieldset class={`row${count > 0 ? ' selection' : ''}`}>
      <legend class="unseen">FileSelection files</legend>
      <CheckboxField
        label={
          count === 0
            ? countOf(total, 'file')
            : `${formatNumber(count)} of ${countOf(total, 'file')} selected`
        }
        checked={count >= shown}
        onChange={(on) => onSelect(on ? new Set(items?.map(({ name }) => name)) : nothing)}
      />
      {count > 0 && (
        <Button small onClick={onDelete}>
          Delete {countOf(count, 'file')}
        </Button>
      )}
      {count >= shown && count < total && (
        <Button small onClick={() => onSelect('all')}>
          Select all {countOf(total, 'file')}
        </Button>
      )}
      {count > 0 && (
        <Button small kind="quiet" onClick={() => onSelect(nothing)}>
          Clear the selection
        </Button>
      )}
    </fieldset>
  );
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
