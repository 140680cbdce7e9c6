import type { JSX, TargetedKeyboardEvent } from 'preact';
import { IconButton } from '../parts/button.tsx';
import { formatBytes } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import type { StoredFile } from './file-api.ts';
import { Expiry } from './file-expiry.tsx';
import type { FilesProps } from './file-table.tsx';
import { FolderLine } from './folder-line.tsx';
import { formatPlayTime, mediaKind } from './media-kind.ts';
import { FileCheckbox } from './selection.tsx';
import { Thumbnail } from './thumbnail.tsx';

const placeholders = 12;

/** Files as pictures. Tab reaches every control, and arrows move between the pictures. */
export function FileGrid(props: FilesProps): JSX.Element {
  const { project, files } = props;
  if (files === null) {
    return (
      <ul class="file-grid" aria-busy="true" aria-label={`Files of ${project}`}>
        {Array.from({ length: placeholders }, (_, index) => (
          <li key={index} class="tile">
            <span class="thumbnail large" />
            <span class="skeleton" />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <ul class="file-grid" aria-label={`Files of ${project}`} onKeyDown={moveFocus}>
      {files.map((file) => (
        <Tile key={file.name} {...props} file={file} />
      ))}
    </ul>
  );
}

function Tile(props: FilesProps & { readonly file: StoredFile }): JSX.Element {
  const { project, file, preset, selecting, onOpen, onDelete } = props;
  const { originalName, duration } = file;
  const kind = mediaKind(file);
  return (
    <li class="tile">
      <button type="button" class="tile-open" title={originalName} onClick={() => onOpen(file)}>
        <Thumbnail large {...{ project, file, preset }} />
        {(kind === 'video' || kind === 'audio') && (
          <span class="badge tile-mark">
            <Icon name="play" />
            {duration === undefined ? <span class="unseen">{kind}</span> : formatPlayTime(duration)}
          </span>
        )}
        <span class="tile-name">{originalName || '(no name)'}</span>
      </button>
      <FolderLine file={file} />
      <div class="row apart tile-foot">
        <span class="row">
          {onDelete !== null && <FileCheckbox {...{ file, selecting }} />}
          <span class="hint quiet">{formatBytes(file.size)}</span>
        </span>
        {onDelete !== null && (
          <IconButton icon="trash" label={`Delete ${originalName}`} onClick={() => onDelete(file)} />
        )}
      </div>
      {file.expiresAt !== undefined && <Expiry at={file.expiresAt} />}
    </li>
  );
}

const steps: Readonly<Record<string, readonly [across: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** An arrow moves the focus to the picture beside, above or below. */
function moveFocus(event: TargetedKeyboardEvent<HTMLUListElement>): void {
  const step = steps[event.key];
  const tiles = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile-open')];
  const from = tiles.indexOf(event.target as HTMLElement);
  if (step === undefined || from === -1 || event.ctrlKey || event.metaKey || event.altKey) return;
  const topOf = (tile: HTMLElement): number => tile.getBoundingClientRect().top;
  const second = tiles.findIndex((tile) => topOf(tile) > topOf(tiles[0] as HTMLElement));
  const columns = second === -1 ? tiles.length : second;
  const next = tiles[from + step[0] + step[1] * columns];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
