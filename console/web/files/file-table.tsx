import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { formatBytes, formatSince, formatTime } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import type { StoredFile } from './file-api.ts';
import { Thumbnail } from './thumbnail.tsx';

export interface FileTableProps {
  readonly project: string;
  readonly files: readonly StoredFile[] | null;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (name: string, selected: boolean) => void;
  readonly onOpen: (file: StoredFile) => void;
  readonly onLink: (file: StoredFile) => void;
  readonly onDelete: (file: StoredFile) => void;
}

export function FileTable(props: FileTableProps): JSX.Element {
  const { project, files, onLink, onDelete } = props;
  const columns: readonly Column<StoredFile>[] = [
    {
      key: 'name',
      label: 'Name',
      cell: (file) => <NameCell {...props} file={file} />,
    },
    { key: 'type', label: 'Type', cell: (file) => <span class="quiet">{file.contentType}</span> },
    { key: 'size', label: 'Size', numeric: true, cell: (file) => formatBytes(file.size) },
    {
      key: 'created',
      label: 'Uploaded',
      cell: (file) => (
        <time dateTime={file.createdAt} title={formatTime(file.createdAt)} class="nowrap">
          {formatSince(file.createdAt)}
        </time>
      ),
    },
    {
      key: 'tools',
      label: 'Actions',
      tools: true,
      cell: (file) => (
        <>
          <Button
            kind="quiet"
            small
            label={`Copy a link to ${file.originalName}`}
            onClick={() => onLink(file)}
          >
            <Icon name="link" />
          </Button>
          <Button kind="quiet" small label={`Delete ${file.originalName}`} onClick={() => onDelete(file)}>
            <Icon name="trash" />
          </Button>
        </>
      ),
    },
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
}: FileTableProps & { readonly file: StoredFile }): JSX.Element {
  return (
    <span class="file-name">
      <input
        type="checkbox"
        aria-label={`Select ${file.originalName}`}
        checked={selected.has(file.name)}
        onChange={(event) => onSelect(file.name, event.currentTarget.checked)}
      />
      <Thumbnail project={project} file={file} />
      <button type="button" class="link" onClick={() => onOpen(file)}>
        {file.originalName || '(no name)'}
      </button>
    </span>
  );
}
