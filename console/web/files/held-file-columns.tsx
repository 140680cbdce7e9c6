import { IconButton } from '../parts/button.tsx';
import { type Column, toolsColumn } from '../parts/data-table.tsx';
import { formatBytes } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Time } from '../parts/time.tsx';
import { session } from '../session.ts';
import type { HiddenKind, StoredFile } from './file-api.ts';
import { Expiry } from './file-expiry.tsx';
import { FolderLine } from './folder-line.tsx';
import { mediaKind } from './media-kind.ts';
import { FileCheckbox, type FileSelection, type Selecting } from './selection.tsx';

export interface HeldFileActions {
  /** Null: not granted, or the file is not in the trash. */
  readonly restore: ((targets: FileSelection) => void) | null;
  readonly remove: ((targets: FileSelection) => void) | null;
}

/** Columns of files that are not shown: without previews and links. */
export function heldFileColumns({
  kind,
  selecting,
  restore,
  remove,
}: HeldFileActions & {
  readonly kind: HiddenKind;
  readonly selecting: Selecting;
}): readonly Column<StoredFile>[] {
  const only = ({ name }: StoredFile): FileSelection => new Set([name]);
  return [
    {
      label: 'Name',
      cell: (file) => (
        <span class="file-name">
          {remove !== null && <FileCheckbox {...{ file, selecting }} />}
          {/* its bytes are for nobody */}
          <span class="thumbnail">
            <Icon name={kind === 'refused' ? 'warning' : mediaKind(file)} />
          </span>
          <span>
            {file.originalName || '(no name)'}
            <FolderLine file={file} />
          </span>
        </span>
      ),
    },
    { label: 'Type', cell: (file) => <span class="quiet">{file.contentType}</span> },
    { label: 'Size', numeric: true, cell: (file) => formatBytes(file.size) },
    ...(kind === 'trashed' ? trashColumns : [uploadedColumn]),
    toolsColumn((file) => (
      <>
        {restore !== null && (
          <IconButton
            icon="retry"
            label={`Restore ${file.originalName}`}
            onClick={() => restore(only(file))}
          />
        )}
        {remove !== null && (
          <IconButton
            icon="trash"
            label={`Delete ${file.originalName} for good`}
            onClick={() => remove(only(file))}
          />
        )}
      </>
    )),
  ];
}

const uploadedColumn: Column<StoredFile> = {
  label: 'Uploaded',
  cell: ({ createdAt }) => <Time date={createdAt} />,
};

const trashColumns: readonly Column<StoredFile>[] = [
  { label: 'Deleted', cell: ({ trashedAt = null }) => <Time date={trashedAt} /> },
  {
    label: 'Left',
    cell: (file) => {
      const end = endOf(file);
      return end !== null && <Expiry at={end} />;
    },
  },
];

/** When the file is gone: at the end of its days in the trash, or before. Null: the server has no trash any more. */
function endOf({ trashedAt, expiresAt }: StoredFile): string | null {
  const { trashDays = 0 } = session.value ?? {};
  const ends = [
    ...(trashedAt === undefined || trashDays === 0 ? [] : [Date.parse(trashedAt) + trashDays * 86_400_000]),
    ...(expiresAt === undefined ? [] : [Date.parse(expiresAt)]),
  ];
  return ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString();
}
