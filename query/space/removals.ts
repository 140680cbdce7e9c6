import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeUnknown } from '#kernel/errors/catalogue.ts';
import { hasFiles } from '#records/file-fields.ts';
import type { RecordFiles } from '#records/record-files.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import {
  type DroppedSpace,
  droppedRecordsId,
  isMoving,
  type RetiredSlot,
  storedSpace,
} from './catalogue-entry.ts';
import { outdatedAfter, type SpacesParts } from './spaces-deps.ts';

export type RemovalParts = Pick<SpacesParts, 'store' | 'catalogue' | 'log'>;

/** Milliseconds that earlier writes may take. */
const idleLimit = 5_000;
/** Most dropped spaces that a start sweeps. */
const sweptAtOnce = 1000;
/** Records of one UPDATE: the table's other updates wait for it. */
const recordsAtOnce = 20_000;
/** Milliseconds after which an unfinished move of a space counts as interrupted. */
const moveLimit = 24 * 3_600_000;
/** Milliseconds between statements, for other updates. */
const pause = 50;

/**
 * Deletes all records of one space, with no writes to it meanwhile.
 * @param keys `all`: no process writes to the space any more
 */
export function clearSpace(
  store: RecordStore,
  id: string,
  signal: AbortSignal,
  keys: 'all' | 'old' = 'old',
): Promise<void> {
  return store.rewrite(id, () => deleteAll(store, id, keys, signal));
}

/** Does work that may remove all records of a space, and their files. */
export async function droppingAll<Result>(
  files: RecordFiles,
  space: Parameters<RecordFiles['drop']>[0],
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  if (!hasFiles(space.stored)) return work();
  const dropped = await files.drop(space, 'all', signal);
  try {
    return await work();
  } finally {
    dropped();
  }
}

/** The same as `clearSpace` for all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  {
    store,
    catalogue,
    recordFiles,
  }: Pick<RemovalParts, 'store' | 'catalogue'> & { readonly recordFiles: RecordFiles },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { id, recordsId } of await catalogue.idsOfProject(projectId, signal)) {
    const entry = await catalogue.find(id, signal);
    const clear = (): Promise<void> => clearSpace(store, recordsId, signal);
    if (entry === null) await clear();
    else await droppingAll(recordFiles, storedSpace(entry), clear, signal);
    const now = store.db.stores.all.length === 1 ? null : await catalogue.find(id, signal);
    if (now !== null && (now.recordsId !== recordsId || isMoving(now.structure)))
      throw outcomeUnknown(new Error('a record space of the project is being moved to another store'));
  }
}

/** Called within `rewrite`. Runs one statement for the records, however many there are, and one for their keys. */
export async function deleteAll(
  { db, table }: RecordStore,
  id: string,
  keys: 'all' | 'old',
  signal: AbortSignal,
): Promise<void> {
  await db.command({ ...table.clear(id), signal });
  await db.command({ ...table.clearKeys(id, keys), signal });
}

/**
 * Deletes the records of a dropped space, which no request finds any more. If that fails, or an earlier write is still
 * running, the next start does it again.
 */
export async function deleteDropped(
  { store, catalogue, log, writes }: RemovalParts & Pick<SpacesParts, 'writes'>,
  dropped: DroppedSpace,
  signal: AbortSignal,
): Promise<void> {
  const recordsId = droppedRecordsId(dropped);
  try {
    const idle = await writes.idle(recordsId, idleLimit).then(
      () => true,
      () => false,
    );
    await clearSpace(store, recordsId, signal, 'all');
    // writes of other processes are unknown
    if (store.singleWriter && idle) await catalogue.swept(dropped, signal);
  } catch (error) {
    log.warn({ err: error, space: dropped.id }, 'records of a dropped space are left to the next start');
  }
}

/**
 * Removes the values of a dropped field from the records, in batches. Nobody waits for it, as nobody sees the values, and
 * the next start does the rest. Never rejects.
 */
export async function clearSlot(
  { store, log }: Pick<RemovalParts, 'store' | 'log'>,
  { recordsId, slot }: RetiredSlot,
  signal?: AbortSignal,
): Promise<void> {
  const { db, table } = store;
  const nextId = async (after: string, skip: number): Promise<string | undefined> => {
    const statement = table.nextOfSlot(recordsId, slot, after, skip);
    return (await db.rows<{ _id: string }>({ ...statement, signal }))[0]?._id;
  };
  try {
    for (let after = ''; (await nextId(after, 0)) !== undefined; ) {
      const upTo = await nextId(after, recordsAtOnce - 1);
      const clear = { ...table.dropSlot(recordsId, slot, { after, upTo }), signal };
      await store.tidy(recordsId, () => db.command(clear));
      if (upTo === undefined) return;
      after = upTo;
      await sleep(pause, undefined, { signal });
    }
  } catch (error) {
    if (!signal?.aborted)
      log.warn({ err: error, space: recordsId }, 'values of a dropped field are left to the next start');
  }
}

/** Removes what earlier processes left of dropped and moved spaces, and of dropped fields. Never rejects. */
export async function sweepLeft(deps: RemovalParts, signal: AbortSignal): Promise<void> {
  const { store, catalogue, log } = deps;
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'a sweep of dropped records is left to the next start');
    }
  };
  await attempt(async () => {
    // no process writes any more to a space that was dropped before
    const before = new Date(Date.now() - (store.singleWriter ? 0 : outdatedAfter));
    // one by one, as a store may be down
    for (const dropped of await catalogue.leftBehind(before, sweptAtOnce, signal))
      await attempt(async () => {
        await clearSpace(store, droppedRecordsId(dropped), signal, 'all');
        await catalogue.swept(dropped, signal);
      });
    for (const id of await catalogue.leftByMoves(new Date(Date.now() - moveLimit), sweptAtOnce, signal))
      await attempt(() => clearMoved(deps, id, signal));
    for (const retired of await catalogue.retiredSlots(signal)) await clearSlot(deps, retired, signal);
  });
}

/** Deletes the records that a move left in the old store, or an interrupted move in the new one. */
export async function clearMoved(
  { store, catalogue }: Pick<RemovalParts, 'store' | 'catalogue'>,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const entry = await catalogue.find(id, signal);
  if (entry === null || entry.leftRecords === '') return;
  // clear the catalogue first: a move that still runs can't end then, as it stores the version that it found
  const cleared = { ...entry, version: entry.version + 1, leftRecords: '' };
  if (await catalogue.store(cleared, signal)) await clearSpace(store, entry.leftRecords, signal, 'all');
}
