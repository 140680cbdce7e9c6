import type { JSX } from 'preact';
import { place, samePage } from '../router.ts';
import type { StoredFile } from './file-api.ts';

/** A folder has no name but its id, whose end is enough to tell folders apart. */
export function shortFolder(folder: string): string {
  return `…${folder.slice(-8)}`;
}

/** Where a file is in its folder, with a link to the files of the folder. Nothing for a file in none. */
export function FolderLine({
  file: { folder, path = '' },
}: {
  readonly file: StoredFile;
}): JSX.Element | null {
  if (folder === undefined) return null;
  const query = new URLSearchParams(place.value.query);
  const isShown = query.get('folder') === folder;
  query.set('folder', folder);
  return (
    <div class="hint folder-line">
      {!isShown && (
        <>
          <a
            href={samePage(query.toString())}
            title={folder}
            aria-label={`Folder ${shortFolder(folder)}: its files`}
          >
            {shortFolder(folder)}
          </a>
          {' / '}
        </>
      )}
      <span class="quiet">{path}</span>
    </div>
  );
}
