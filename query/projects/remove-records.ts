import type { RemovePart } from '#catalogue/account-removals.ts';
import type { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { Imports } from '../imports/jobs/imports.ts';
import type { OidcSettingsTable } from '../login/oidc-settings.ts';
import { droppedRecordsId } from '../space/catalogue-entry.ts';
import { clearSpace } from '../space/removals.ts';
import { type DropParts, dropSpacesOf } from './drop-space.ts';

interface RemoveRecordsDeps extends DropParts {
  readonly imports: Pick<Imports, 'removeOwner'>;
  readonly fileUses: Pick<FileUses, 'removeOwner'>;
  readonly oidcSettings: Pick<OidcSettingsTable, 'remove'>;
}

/** Ids of spaces in one statement. */
const spacesAtOnce = 1000;

/**
 * Removes the imports, spaces and projects of a deleted account. The rows of its dropped spaces stay until the last pass:
 * they name the records that a write under way may still add.
 */
export function removeRecords(deps: RemoveRecordsDeps): RemovePart {
  const { store, catalogue, projects, imports, fileUses, oidcSettings } = deps;
  return async (ownerId, signal, isLast) => {
    await imports.removeOwner(ownerId, isLast, signal);
    await dropSpacesOf(deps, ownerId, signal);
    if (!isLast) return;
    const dropped = await catalogue.droppedOf(ownerId, signal);
    for (const space of dropped) await clearSpace(store, droppedRecordsId(space), signal, 'all');
    const ids = dropped.map(({ id }) => id);
    await clearReceipts(deps, ids, signal);
    for (const some of chunksOf(ids, spacesAtOnce)) await oidcSettings.remove(some, signal);
    await fileUses.removeOwner(ownerId, signal);
    await catalogue.removeOwner(ownerId, signal);
    await projects.removeOwner(ownerId, signal);
  };
}

async function clearReceipts(
  { store }: Pick<RemoveRecordsDeps, 'store'>,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { db, table } = store;
  const homes = db.stores.all.flatMap(({ number }) => table.receiptSpaces(number));
  for (const some of chunksOf(ids, spacesAtOnce))
    for (const home of homes)
      await store.rewrite(home, () => db.command({ ...table.clearReceipts(home, some), signal }));
}
