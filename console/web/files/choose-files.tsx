import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { chosenFiles, droppedFiles, mostFiles } from './dropped-files.ts';
import { addUploads, type ChosenFile } from './uploads.ts';

function take(project: string, chosen: readonly ChosenFile[]): void {
  if (chosen.length === 0) {
    toast('There are no files in what was dropped.');
    return;
  }
  if (chosen.length > mostFiles)
    toast(`Only the first ${mostFiles} files are uploaded. Drop the rest afterwards.`);
  addUploads(project, chosen.slice(0, mostFiles));
}

/** The buttons that do what dropping does. */
export function ChooseFiles({ project }: { readonly project: string }): JSX.Element {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement | null>(null);
  const chosen = (input: HTMLInputElement): void => {
    if (input.files !== null && input.files.length > 0) take(project, chosenFiles(input.files));
    // the same file can be chosen again
    input.value = '';
  };
  return (
    <>
      <Button kind="primary" onClick={() => files.current?.click()}>
        <Icon name="upload" />
        Upload files
      </Button>
      <Button onClick={() => folder.current?.click()}>Upload a folder</Button>
      <input ref={files} type="file" multiple hidden onChange={(event) => chosen(event.currentTarget)} />
      <input
        ref={(input) => {
          folder.current = input;
          // a property without an attribute in the types of JSX
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

/** Takes files that are dropped anywhere on it. */
export function DropZone({
  project,
  children,
}: {
  readonly project: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  // dragenter and dragleave come for each element inside
  const depth = useRef(0);
  const [over, setOver] = useState(false);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes('Files') ?? false;
  const move = (step: number) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    depth.current += step;
    setOver(depth.current > 0);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keyboard has the buttons
    <div
      class={`drop-zone${over ? ' over' : ''}`}
      onDragEnter={move(1)}
      onDragLeave={move(-1)}
      onDragOver={(event) => {
        if (hasFiles(event)) event.preventDefault();
      }}
      onDrop={(event) => {
        depth.current = 0;
        setOver(false);
        if (event.dataTransfer === null || !hasFiles(event)) return;
        event.preventDefault();
        droppedFiles(event.dataTransfer).then((chosen) => take(project, chosen), toastProblem);
      }}
    >
      {children}
      {over && (
        <p class="drop-hint" aria-hidden="true">
          <Icon name="upload" />
          Drop to upload to {project}
        </p>
      )}
    </div>
  );
}
