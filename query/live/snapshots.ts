import { tooManyRecords } from '../../common/errors/catalogue.ts';
import { chunksOf } from '../../common/limits/chunks-of.ts';
import { FairShare } from '../../common/limits/fair-share.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { shownJson } from '../sql/record-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { eventBytes, noPlace } from './live-events.ts';
import type { LivePlan } from './live-plan.ts';
import type { LiveQuery } from './live-query.ts';
import type { LiveSpace } from './live-space.ts';
import type { LiveStream } from './live-stream.ts';

/** Bytes of values of a snapshot, and of one event of it, which has so many records at most. */
const mostBytes = 64 * 1024 * 1024;
const eventSize = { bytes: 256 * 1024, records: 500 };
/** Reads that run at once in the process, and for one account. */
const reads = { capacity: 16, share: 8, queueLimit: 20_000, full: 'too many snapshots wait' };

export interface SnapshotDeps {
  readonly store: Pick<RecordStore, 'lookUp'>;
  readonly reader: RecordReader;
}

/** A stream that changes are told to. */
export interface Joined {
  readonly space: LiveSpace;
  readonly stream: LiveStream;
  readonly query: LiveQuery;
}

/** Reads the records of live finds. No more of one are in memory than its client is about to get. */
export class Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #turns = new FairShare({ ...reads, accountQueueLimit: reads.queueLimit });

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  /** The events of a snapshot, one at least. Throws a 413 when it has too many records, or bytes. @param joined its stream */
  async *events(
    view: RecordSpace,
    { conditions, shown, limit }: LivePlan,
    joined: Joined,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { reader } = this.#deps;
    const inTurn = <Result>(read: () => Promise<Result>) => this.#turns.run(read, signal, view.ownerId);
    const found = await inTurn(() => reader.matching(view, { conditions, limit: limit + 1 }, signal));
    const bytes = found.reduce((sum, { _bytes }) => sum + _bytes, 0);
    if (found.length > limit || bytes > mostBytes) {
      const count = await inTurn(() => reader.count(view, signal, conditions));
      throw tooManyRecords(count, limit, mostBytes);
    }
    const perEvent = Math.ceil(found.length / Math.max(1, Math.ceil(bytes / eventSize.bytes)));
    let isSent = false;
    for (const some of chunksOf(found, Math.max(1, Math.min(perEvent, eventSize.records)))) {
      const ids = some.map(({ _id }) => _id);
      const read = () => joined.space.betweenChanges(signal, () => this.#read(view, ids, joined, signal));
      const rows = await inTurn(read);
      yield eventBytes('snapshot', noPlace, `[${rows.map((row) => shownJson(row, shown)).join()}]`);
      isSent = true;
    }
    if (!isSent) yield eventBytes('snapshot', noPlace, '[]');
  }

  /** Those that are the query's by now: they may have changed since they were found. */
  async #read(
    view: RecordSpace,
    ids: readonly string[],
    { stream, query }: Joined,
    signal: AbortSignal,
  ): Promise<readonly StoredRow[]> {
    stream.forget(ids);
    const found = await Promise.all(ids.map((id) => this.#deps.store.lookUp(view, { id }, signal)));
    const rows = found.flat().filter((row) => query.matches(row));
    for (const { _id } of rows) query.has(_id);
    return rows;
  }
}
