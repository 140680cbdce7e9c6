import { LRUCache } from 'lru-cache';
import type { IsKey } from '../sql/conditions-sql.ts';
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
/** Milliseconds: of spaces that are still small, and of others. */
const lifetime = { growing: 5000, large: 300_000 };
/** Common terms that are held of all spaces, and each space counts like some more. */
const held = 200_000;
const perSpace = 50;
const timeout = 10_000;

const none: IsKey = () => false;

/** Statistics of the common values of spaces, by samples. A wrong guess costs time, and makes no answer wrong. */
export class CommonTerms {
  readonly #engine: Engine;
  readonly #known = new LRUCache<string, { readonly isRare: IsKey; readonly size: number }>({
    maxSize: held,
    sizeCalculation: ({ size }) => size + perSpace,
  });
  readonly #reading = new Map<string, Promise<IsKey>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  of(space: RecordSpace): IsKey | Promise<IsKey> {
    const { id } = space;
    const known = this.#known.get(id);
    if (known !== undefined) return known.isRare;
    const reading = this.#reading.get(id);
    if (reading !== undefined) return reading;
    const read = this.#read(space).finally(() => this.#reading.delete(id));
    this.#reading.set(id, read);
    return read;
  }

  async #read({ id, ownerId }: RecordSpace): Promise<IsKey> {
    const { db, table } = this.#engine;
    const reading = db.rows<{ term: Term | ''; times: number }>({
      ...table.sampleTerms(id, { records: sampled, most: mostRare }),
      account: ownerId,
      signal: AbortSignal.timeout(timeout),
    });
    // the search itself will say what is wrong
    const sample = await reading.catch(() => []);
    const terms = new Set(sample.map(({ term }) => term));
    const records = sample.find(({ term }) => term === '')?.times ?? 0;
    const isRare: IsKey =
      records <= small ? none : (field, value) => !terms.has(termOf(id, slotOf(field), value));
    const ttl = records < 2 * sampled ? lifetime.growing : lifetime.large;
    this.#known.set(id, { isRare, size: terms.size }, { ttl });
    return isRare;
  }
}
