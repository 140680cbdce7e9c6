import type { JSX } from 'preact';
import { address } from '../address.ts';
import { apiBase } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { SelectField } from '../parts/field.tsx';
import { countOf } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { setQuery } from '../router.ts';
import { ExpiringLinkForm } from './expiring-link-form.tsx';
import type { StoredFile } from './file-api.ts';
import { shortFolder } from './folder-line.tsx';

interface FolderBarProps {
  readonly project: string;
  readonly folder: string;
  /** Null: not granted. */
  readonly onDelete: (() => void) | null;
}

/** Above the files of a folder: its address, and what can be done with all of it. */
export function FolderBar({ project, folder, onDelete }: FolderBarProps): JSX.Element {
  return (
    <section class="card stack" aria-label="Folder">
      <div class="row apart">
        <h2 class="row" title={folder}>
          <Icon name="folder" /> Folder {shortFolder(folder)}
        </h2>
        <div class="row">
          {onDelete !== null && (
            <Button small icon="trash" onClick={onDelete}>
              Delete the folder
            </Button>
          )}
          <Button small kind="quiet" onClick={() => setQuery({ folder: '' })}>
            Show all files
          </Button>
        </div>
      </div>
      <CodeBlock
        code={`${apiBase()}${address`/_f_/${project}/${folder}/`}`}
        label="Copy the address of the folder"
      />
      <details>
        <summary>Expiring link</summary>
        <p class="hint">
          Anyone with this link can read every file of the folder until it expires, by the file’s path at its
          end. It can't be revoked.
        </p>
        <ExpiringLinkForm {...{ project, name: folder }} />
      </details>
    </section>
  );
}

interface FolderSelectProps {
  /** Files that are shown. */
  readonly items: readonly StoredFile[];
  /** The chosen one; empty: none. */
  readonly folder: string;
}

/** Chooses one of the folders that the shown files are in. */
export function FolderSelect({ items, folder }: FolderSelectProps): JSX.Element | null {
  const counts = new Map<string, number>(folder === '' ? [] : [[folder, 0]]);
  for (const file of items) {
    if (file.folder !== undefined) counts.set(file.folder, (counts.get(file.folder) ?? 0) + 1);
  }
  if (counts.size === 0) return null;
  const options = [...counts].map(([id, count]): [string, string] => [
    id,
    `Folder ${shortFolder(id)}, ${countOf(count, 'file')} shown`,
  ]);
  return (
    <SelectField
      label="Folder"
      hideLabel
      value={folder}
      options={[['', 'All folders'], ...options]}
      onInput={(id) => setQuery({ folder: id })}
    />
  );
}
