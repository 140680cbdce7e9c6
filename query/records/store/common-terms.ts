import { LRUCache } from 'lru-cache';
import { type QueuedItem, type StatementItem, StatementQueues, settleAll } from '#engine/statement-queues.ts';
import type { IsSelective } from '../sql/conditions-sql.ts';
import { type Term, termOf } from '../sql/terms.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import type { Engine } from './record-store.ts';

/** Of the oldest and of the newest records of a space, so many each. */
const sampled = 4096;
/** A value that more of them have is common: its records are all over the space, and a scan is as fast. */
const mostRare = 4;
/** Records of a space that is read as fast without an index. */
const small = 1024;
/** Milliseconds after which they are read again, while the old ones count: of spaces that are still small, and of others. */
const lifetime = { growing: 5000, large: 300_000 };
/** Common terms that are held of all spaces, and each space counts like some more. */
const held = 200_000;
const perSpace = 50;
const timeout = 10_000;
/** Spaces that are counted by one statement, and those that may wait. */
const countedAtOnce = 256;
const waitingLimit = 20_000;

const none: IsSelective = () => false;

interface Count extends StatementItem {
  readonly spaceId: string;
}

interface Statistics {
  readonly isRare: IsSelective;
  /** Common terms. */
  readonly size: number;
}

/** Statistics of the common values of spaces, by samples. A wrong guess costs time, and makes no answer wrong. */
export class CommonTerms {
  readonly #engine: Engine;
  /** A sample costs more than a search of a small space, and a count that spaces share costs little. */
  readonly #counts: StatementQueues<Count, number>;
  readonly #known = new LRUCache<string, Statistics, RecordSpace>({
    maxSize: held,
    sizeCalculation: ({ size }) => size + perSpace,
    ttl: lifetime.growing,
    noDeleteOnStaleGet: true,
    // waiting requests get the result, even if the cache has no room for it
    ignoreFetchAbort: true,
    fetchMethod: (_id, _stale, { context, options }) => this.#read(context, options),
  });

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#counts = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many finds wait',
      sizeLimit: countedAtOnce,
      run: (counts) => settleAll(counts, () => this.#count(counts)),
    });
  }

  of(space: RecordSpace): IsSelective | Promise<IsSelective> {
    const known = this.#known.get(space.id);
    if (known !== undefined) return known.isRare;
    return this.#known
      .forceFetch(space.id, { context: space, allowStale: true })
      .then(({ isRare }) => isRare);
  }

  /** @param place of the result in the cache */
  async #read({ id, ownerId: account }: RecordSpace, place: { ttl?: number }): Promise<Statistics> {
    const { db, table } = this.#engine;
    const signal = AbortSignal.timeout(timeout);
    let isRare = none;
    let size = 0;
    try {
      const queue = table.homeOf(id);
      const records = await this.#counts.add({ queue, shape: '', size: 1, account, signal, spaceId: id });
      if (records > small) {
        const sample = table.sampleTerms(id, { records: sampled, most: mostRare });
        const rows = await db.rows<{ term: Term }>({ ...sample, account, signal });
        const terms = new Set(rows.map(({ term }) => term));
        isRare = (field, value) => !terms.has(termOf(id, slotOf(field), value));
        size = terms.size;
      }
      if (records >= 2 * sampled) place.ttl = lifetime.large;
    } catch {
      // the search itself will report the failure
    }
    return { isRare, size };
  }

  /** Writes that the table does not have yet are left out: waiting for them would take longer than a search. */
  async #count(counts: readonly QueuedItem<Count, number>[]): Promise<(count: Count) => number> {
    const { db, table } = this.#engine;
    const ids = counts.map(({ item }) => item.spaceId);
    const [first] = ids as [string];
    // a limit makes counting a large space cheap, but costs a millisecond a space
    const { sql, home } = ids.length === 1 ? table.countUpTo(first, 2 * sampled) : table.countAll(ids);
    const signal = AbortSignal.timeout(timeout);
    const rows = await db.rows<{ _space: string; count: number }>({ sql, home, signal });
    const found = new Map(rows.map(({ _space, count }) => [_space, count]));
    return ({ spaceId }) => found.get(spaceId) ?? 0;
  }
}
