import { noQuota } from '#gateway/access/storage-quota.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { FolderPlaces } from '#gateway/folders/folder-places.ts';
import { noUses } from './no-uses.ts';
import { silentLog } from './silent-log.ts';

/** Places of folders over some files, of which no record names any. */
export function placesOn(
  cloudFiles: Pick<CloudFiles, 'findInFolder' | 'ownerOfFolder' | 'list' | 'remove'>,
): FolderPlaces {
  return new FolderPlaces({
    cloudFiles,
    used: noUses,
    replaced: { add() {} },
    quota: noQuota,
    redirects: null,
    log: silentLog(),
  });
}

/** Without folders. */
export const noPlaces = placesOn({
  findInFolder: async () => null,
  ownerOfFolder: async () => null,
  list: async () => [],
  remove: async () => false,
});
