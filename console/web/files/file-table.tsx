import type { JSX } from 'preact';
import { IconButton } from '../parts/button.tsx';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { formatBytes } from '../parts/format.ts';
import { Time } from '../parts/time.tsx';
import type { StoredFile } from './file-api.ts';
import { Thumbnail } from './thumbnail.tsx';

/** Names of selected files, or all that match the filter. */
export type FileSelection = ReadonlySet<string> | 'all';

export interface FileTableProps {
  readonly project: string;
  readonly files: readonly StoredFile[] | null;
  readonly selected: FileSelection;
  readonly onSelect: (name: string, selected: boolean) => void;
  readonly onOpen: (file: StoredFile) => void;
  /** Null: not granted. */
  readonly onDelete: ((file: StoredFile) => void) | null;
}

export function FileTable(props: FileTableProps): JSX.Element {
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

function NameCell({
  project,
  file,
  selected,
  onSelect,
  onOpen,
  onDelete,
}: FileTableProps & { readonly file: StoredFile }): JSX.Element {
  return (
    <span class="file-name">
      {onDelete !== null && (
        <input
          type="checkbox"
          aria-label={`Select ${file.originalName}`}
          checked={selected === 'all' || selected.has(file.name)}
          onChange={(event) => onSelect(file.name, event.currentTarget.checked)}
        />
      )}
      <Thumbnail project={project} file={file} />
      <button type="button" class="link" onClick={() => onOpen(file)}>
        {file.originalName || '(no name)'}
      </button>
    </span>
  );
}
