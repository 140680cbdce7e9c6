import type { Log } from '../../common/log/log.ts';
import type { RecordStore } from '../store/record-store.ts';
import { deleteAll } from './clear-records.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import type { DroppedSpace, SpaceCatalogue } from './space-catalogue.ts';
import { droppedRecordsId } from './space-generation.ts';
import { TableCatalogue } from './table-catalogue.ts';

export interface DeleteDroppedDeps {
  readonly store: RecordStore;
  readonly catalogue: SpaceCatalogue;
  readonly writes: InFlightWrites;
  readonly log?: Pick<Log, 'warn'> | undefined;
}

/** How long writes that began before may take, and how old a space is that no process writes to any more. Milliseconds. */
const idleLimit = 5_000;
const outdatedAfter = 120_000;
/** Dropped spaces that a start sweeps. */
const sweptAtOnce = 1000;

/**
 * Deletes the records of a space that is dropped, which nobody finds any more. Where that fails, or a write that began
 * before still goes on, the next start does it again.
 */
export async function deleteDropped(
  deps: DeleteDroppedDeps,
  dropped: DroppedSpace,
  signal: AbortSignal,
): Promise<void> {
  const { store, catalogue, writes, log } = deps;
  const recordsId = droppedRecordsId(dropped.id, dropped.version);
  try {
    const idle = await writes.idle(recordsId, idleLimit).then(
      () => true,
      () => false,
    );
    await store.rewrite(recordsId, () => deleteAll(store, recordsId, 'all', signal));
    // of writes of other processes nothing is known
    if (store.alone && idle) await catalogue.swept(dropped, signal);
  } catch (error) {
    log?.warn({ err: error, space: dropped.id }, 'records of a dropped space are left to the next start');
  }
}

/** Deletes what earlier processes left of dropped spaces. Never rejects. */
export async function sweepDropped(
  args: {
    readonly store: RecordStore;
    readonly database: string;
    readonly log: Pick<Log, 'warn'>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { store, database, log } = args;
  const catalogue = new TableCatalogue({ db: store.db, database });
  try {
    const before = new Date(Date.now() - (store.alone ? 0 : outdatedAfter));
    for (const dropped of await catalogue.leftBehind(before, sweptAtOnce, signal)) {
      await deleteAll(store, droppedRecordsId(dropped.id, dropped.version), 'all', signal);
      await catalogue.swept(dropped, signal);
    }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'records of dropped spaces are left to the next start');
  }
}
