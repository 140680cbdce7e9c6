import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { addUploads, type LocalFile } from './uploads.ts';

/** More in one drop is probably a mistake, such as a home directory. */
const mostFiles = 5_000;

function chosenFile(file: File): LocalFile {
  return { file, path: file.webkitRelativePath || file.name };
}

function take(project: string, chosen: readonly LocalFile[]): void {
  if (chosen.length === 0) {
    toast('Nothing to upload: no files were dropped.');
    return;
  }
  if (chosen.length > mostFiles)
    toast(`Only the first ${mostFiles} files are uploaded. Drop the rest afterwards.`);
  addUploads(project, chosen.slice(0, mostFiles));
}

/** Buttons to choose files instead of dropping them. */
export function ChooseFiles({ project }: { readonly project: string }): JSX.Element {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement | null>(null);
  const chosen = (input: HTMLInputElement): void => {
    if (input.files !== null && input.files.length > 0) take(project, [...input.files].map(chosenFile));
    // so that the same file can be chosen again
    input.value = '';
  };
  return (
    <>
      <Button icon="upload" kind="primary" onClick={() => files.current?.click()}>
        Upload files
      </Button>
      <Button onClick={() => folder.current?.click()}>Upload a folder</Button>
      <input ref={files} type="file" multiple hidden onChange={(event) => chosen(event.currentTarget)} />
      <input
        ref={(input) => {
          folder.current = input;
          // JSX has no type for this attribute
          if (input !== null) input.webkitdirectory = true;
        }}
        type="file"
        multiple
        hidden
        onChange={(event) => chosen(event.currentTarget)}
      />
    </>
  );
}

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;

/** Accepts files that are dropped anywhere on the page. */
export function DropZone({ project }: { readonly project: string }): JSX.Element | null {
  const [over, setOver] = useState(false);
  useEffect(() => {
    // dragenter and dragleave fire for each element under the pointer
    let depth = 0;
    const move = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      // otherwise the browser opens the file
      if (event.type === 'dragover') event.preventDefault();
      else depth += event.type === 'dragenter' ? 1 : -1;
      setOver(depth > 0);
    };
    const drop = (event: DragEvent): void => {
      depth = 0;
      setOver(false);
      if (event.dataTransfer === null || !hasFiles(event)) return;
      event.preventDefault();
      droppedFiles(event.dataTransfer).then((chosen) => take(project, chosen), toastProblem);
    };
    const listeners = new AbortController();
    for (const type of ['dragenter', 'dragleave', 'dragover'] as const) {
      document.addEventListener(type, move, listeners);
    }
    document.addEventListener('drop', drop, listeners);
    return () => listeners.abort();
  }, [project]);
  if (!over) return null;
  return (
    <div class="drop-zone" aria-hidden="true">
      <p class="drop-hint">
        <Icon name="upload" />
        Drop to upload to {project}
      </p>
    </div>
  );
}

/** The dropped files, including those in folders. Reads the entries before the event ends. */
async function droppedFiles(transfer: DataTransfer): Promise<LocalFile[]> {
  const entries = [...transfer.items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files].map(chosenFile);
  const found: LocalFile[] = [];
  for (const entry of entries) await collect(entry, found);
  return found;
}

async function collect(entry: FileSystemEntry, found: LocalFile[]): Promise<void> {
  if (found.length >= mostFiles) return;
  if (entry.isFile) {
    const file = await new Promise<File>((...settle) => (entry as FileSystemFileEntry).file(...settle));
    found.push({ file, path: entry.fullPath.replace(/^\//, '') });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // a hundred at a time; an empty batch is the end
    const batch = await new Promise<FileSystemEntry[]>((...settle) => reader.readEntries(...settle));
    if (batch.length === 0) return;
    for (const inner of batch) await collect(inner, found);
  }
}
