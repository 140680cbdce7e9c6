import { tooManyRecords } from '../../common/errors/catalogue.ts';
import { chunksOf } from '../../common/limits/chunks-of.ts';
import { FairShare } from '../../common/limits/fair-share.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { shownJson } from '../sql/record-row.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { eventBytes, noPlace } from './live-events.ts';
import type { LivePlan } from './live-plan.ts';
import type { LiveQuery } from './live-query.ts';

/** Bytes of values of a snapshot, and of one event of it, which has so many records at most. */
const mostBytes = 64 * 1024 * 1024;
const eventSize = { bytes: 256 * 1024, records: 500 };
/** Reads that run at once in the process, and for one account. */
const reads = { capacity: 16, share: 8, queueLimit: 20_000, full: 'too many snapshots wait' };

export interface SnapshotDeps {
  readonly store: Pick<RecordStore, 'lookUp'>;
  readonly reader: RecordReader;
}

/** Reads the records of live finds. No more of one are in memory than its client is about to get. */
export class Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #turns = new FairShare({ ...reads, accountQueueLimit: reads.queueLimit });

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  /** The events of a snapshot, one at least. Throws a 413 when it has too many records, or bytes. */
  async *events(
    view: RecordSpace,
    { conditions, shown, limit }: LivePlan,
    query: LiveQuery,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { store, reader } = this.#deps;
    const inTurn = <Result>(read: () => Promise<Result>) => this.#turns.run(read, signal, view.ownerId);
    const end = query.beginSnapshot();
    try {
      const found = await inTurn(() => reader.matching(view, { conditions, limit: limit + 1 }, signal));
      const bytes = found.reduce((sum, { _bytes }) => sum + _bytes, 0);
      if (found.length > limit || bytes > mostBytes) {
        const count = await inTurn(() => reader.count(view, signal, conditions));
        throw tooManyRecords(count, limit, mostBytes);
      }
      const perEvent = Math.ceil(found.length / Math.max(1, Math.ceil(bytes / eventSize.bytes)));
      let isSent = false;
      for (const some of chunksOf(found, Math.max(1, Math.min(perEvent, eventSize.records)))) {
        const read = () => Promise.all(some.map(({ _id }) => store.lookUp(view, { id: _id }, signal)));
        // changed meanwhile, it may be none of them any more
        const rows = query.stillIn((await inTurn(read)).flat());
        for (const { _id } of rows) query.has(_id);
        yield eventBytes('snapshot', noPlace, `[${rows.map((row) => shownJson(row, shown)).join()}]`);
        isSent = true;
      }
      if (!isSent) yield eventBytes('snapshot', noPlace, '[]');
    } finally {
      end();
    }
  }
}
