import type { JSX } from 'preact';
import { IconButton } from '../parts/button.tsx';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { formatBytes } from '../parts/format.ts';
import { Time } from '../parts/time.tsx';
import type { StoredFile } from './file-api.ts';
import { Expiry } from './file-expiry.tsx';
import { FolderLine } from './folder-line.tsx';
import type { GridPreset } from './grid-preset.ts';
import { FileCheckbox, type Selecting } from './selection.tsx';
import { Thumbnail } from './thumbnail.tsx';

/** Props of the list and of the grid. */
export interface FilesProps {
  readonly project: string;
  readonly files: readonly StoredFile[] | null;
  /** Of the pictures; undefined: not known yet. */
  readonly preset: GridPreset | null | undefined;
  readonly selecting: Selecting;
  readonly onOpen: (file: StoredFile) => void;
  /** Null: not granted. */
  readonly onDelete: ((file: StoredFile) => void) | null;
}

export function FileTable(props: FilesProps): JSX.Element {
  const { project, files, onOpen, onDelete } = props;
  const columns: readonly Column<StoredFile>[] = [
    { label: 'Name', cell: (file) => <NameCell {...props} file={file} /> },
    { label: 'Type', cell: (file) => <span class="quiet">{file.contentType}</span> },
    { label: 'Size', numeric: true, cell: (file) => formatBytes(file.size) },
    { label: 'Uploaded', cell: ({ createdAt }) => <Time date={createdAt} /> },
    toolsColumn((file) => (
      <>
        <IconButton icon="link" label={`Links to ${file.originalName}`} onClick={() => onOpen(file)} />
        {onDelete !== null && (
          <IconButton icon="trash" label={`Delete ${file.originalName}`} onClick={() => onDelete(file)} />
        )}
      </>
    )),
  ];
  return (
    <DataTable
      cards="plain"
      caption={`Files of ${project}`}
      columns={columns}
      rows={files}
      rowKey={(file) => file.name}
    />
  );
}

function NameCell(props: FilesProps & { readonly file: StoredFile }): JSX.Element {
  const { project, file, preset, selecting, onOpen, onDelete } = props;
  return (
    <span class="file-name">
      {onDelete !== null && <FileCheckbox {...{ file, selecting }} />}
      <Thumbnail {...{ project, file, preset }} />
      <span>
        <button type="button" class="link" onClick={() => onOpen(file)}>
          {file.originalName || '(no name)'}
        </button>
        {file.expiresAt !== undefined && (
          <>
            {' '}
            <Expiry at={file.expiresAt} />
          </>
        )}
        <FolderLine file={file} />
      </span>
    </span>
  );
}
