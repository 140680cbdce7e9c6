import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { type KeysetPage, usePages } from '../parts/load.ts';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { ProjectTabs } from '../parts/project-tabs.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import { to } from '../router.ts';
import type { PageProps } from '../routes.tsx';
import { ChooseFiles, DropZone } from './choose-files.tsx';
import { deleteFile, listFiles, type StoredFile } from './file-api.ts';
import { clearFilter, currentFilter, FilterRow, isFiltered } from './file-filter.tsx';
import { FileTable } from './file-table.tsx';
import { LinkDialog } from './link-fields.tsx';
import { PreviewDialog } from './preview-dialog.tsx';
import { UploadPanel } from './upload-panel.tsx';
import { onStored } from './uploads.ts';

type Open = { readonly what: 'preview' | 'links'; readonly file: StoredFile } | null;

/** The files of a project: upload, find, see, link, delete. */
export function FilesPage({ params }: PageProps): JSX.Element {
  const project = params.project ?? '';
  const filter = currentFilter();
  const filtered = isFiltered(filter);
  const files = usePages(
    (after, signal) => filesOrNone(project, filter, after, signal),
    [project, ...Object.values(filter)],
  );
  const { selected, select, clear } = useSelection();
  const [open, setOpen] = useState<Open>(null);
  useEffect(
    () =>
      onStored((where, file) => {
        // whether a filter lets it through is the server's to say
        if (where !== project) return;
        if (filtered) files.reload();
        else files.change((known) => [file, ...known.filter(({ name }) => name !== file.name)]);
      }),
    [project, filtered],
  );

  const remove = async (doomed: readonly StoredFile[]): Promise<void> => {
    if (!(await confirmed(deletionOf(doomed)))) return;
    const gone = await deleteAll(project, doomed);
    files.change((known) => known.filter(({ name }) => !gone.has(name)));
    clear();
    setOpen(null);
    if (gone.size > 0) toast(`${count(gone.size)} deleted.`);
  };
  const chosen = (files.items ?? []).filter(({ name }) => selected.has(name));
  const empty = files.items?.length === 0 && !files.loading;

  return (
    <Page
      title={project}
      crumbs={[{ label: 'Projects', href: to`/projects` }]}
      actions={<ChooseFiles project={project} />}
    >
      <ProjectTabs project={project} current="files" />
      <DropZone project={project}>
        <UploadPanel project={project} />
        {(filtered || !empty) && <FilterRow filter={filter} />}
        <SelectionBar chosen={chosen} onDelete={() => void remove(chosen)} onClear={clear} />
        {empty ? (
          <NoFiles filtered={filtered} />
        ) : (
          (files.items !== null || files.problem === null) && (
            <FileTable
              project={project}
              files={files.items}
              selected={selected}
              onSelect={select}
              onOpen={(file) => setOpen({ what: 'preview', file })}
              onLink={(file) => setOpen({ what: 'links', file })}
              onDelete={(file) => void remove([file])}
            />
          )
        )}
        <More pages={files} />
      </DropZone>
      <OpenDialog
        project={project}
        open={open}
        onClose={() => setOpen(null)}
        onDelete={(file) => void remove([file])}
      />
    </Page>
  );
}

function SelectionBar({
  chosen,
  onDelete,
  onClear,
}: {
  readonly chosen: readonly StoredFile[];
  readonly onDelete: () => void;
  readonly onClear: () => void;
}): JSX.Element | null {
  if (chosen.length === 0) return null;
  return (
    <div class="row selection">
      <span>{count(chosen.length)} selected</span>
      <Button small onClick={onDelete}>
        Delete {count(chosen.length)}
      </Button>
      <Button small kind="quiet" onClick={onClear}>
        Clear the selection
      </Button>
    </div>
  );
}

function OpenDialog({
  project,
  open,
  onClose,
  onDelete,
}: {
  readonly project: string;
  readonly open: Open;
  readonly onClose: () => void;
  readonly onDelete: (file: StoredFile) => void;
}): JSX.Element | null {
  if (open === null) return null;
  const { what, file } = open;
  return what === 'links' ? (
    <LinkDialog project={project} file={file} onClose={onClose} />
  ) : (
    <PreviewDialog project={project} file={file} onClose={onClose} onDelete={() => onDelete(file)} />
  );
}

/** A project that does not exist yet has no files; the first upload makes it. */
async function filesOrNone(
  project: string,
  filter: ReturnType<typeof currentFilter>,
  after: string | null,
  signal: AbortSignal,
): Promise<KeysetPage<StoredFile>> {
  try {
    return await listFiles(project, filter, { after, signal });
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.status === 404) return { items: [], next: null };
    throw thrown;
  }
}

function useSelection(): {
  selected: ReadonlySet<string>;
  select: (name: string, on: boolean) => void;
  clear: () => void;
} {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  return {
    selected,
    select: (name, on) =>
      setSelected((last) => new Set(on ? [...last, name] : [...last].filter((other) => other !== name))),
    clear: () => setSelected(new Set()),
  };
}

function NoFiles({ filtered }: { readonly filtered: boolean }): JSX.Element {
  return filtered ? (
    <EmptyState icon="search" title="No file matches">
      <p>Try a part of the name, another type, or other days.</p>
      <Button onClick={clearFilter}>Clear the filter</Button>
    </EmptyState>
  ) : (
    <EmptyState icon="upload" title="No files yet">
      <p>Drop files or a folder here, or use the buttons above. The project is made with its first file.</p>
    </EmptyState>
  );
}

const count = (files: number): string => `${files} ${files === 1 ? 'file' : 'files'}`;

function deletionOf(files: readonly StoredFile[]): { title: string; body: JSX.Element; confirm: string } {
  const [first] = files;
  const words = files.length === 1 ? (first?.originalName ?? '') : count(files.length);
  return {
    title: `Delete ${words}?`,
    body: <p>The stored bytes are removed and every link stops working. This can't be undone.</p>,
    confirm: `Delete ${count(files.length)}`,
  };
}

const deletionsAtOnce = 3;

/** @returns the names that are gone; says what was not deleted */
async function deleteAll(project: string, files: readonly StoredFile[]): Promise<Set<string>> {
  const gone = new Set<string>();
  const left = [...files];
  const work = async (): Promise<void> => {
    for (let file = left.pop(); file !== undefined; file = left.pop()) {
      try {
        await deleteFile(project, file.name);
        gone.add(file.name);
      } catch (thrown) {
        // somebody else was faster
        if (thrown instanceof Problem && thrown.status === 404) gone.add(file.name);
        else toastProblem(thrown);
      }
    }
  };
  await Promise.all(Array.from({ length: deletionsAtOnce }, work));
  return gone;
}
