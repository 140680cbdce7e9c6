import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveRecord } from './live-client.ts';
import type { liveSpace } from './live-spaces.ts';
import { randomFrom } from './random-from.ts';
import { type FieldInput, fieldsOf } from './record-client.ts';

export const writtenFields: readonly FieldInput[] = fieldsOf(
  'key TEXT unique, kind TEXT, group NUMBER, n NUMBER, on BOOLEAN, word TEXT, tags ARRAY, version NUMBER, pad TEXT',
);

type Space = ReturnType<typeof liveSpace>;
type Step = 'insert' | 'insertMany' | 'update' | 'updateMany' | 'remove' | 'deleteMany' | 'clear';
type Values = Readonly<Record<string, unknown>>;

const words = ['alpha', 'beta', 'gamma', 'delta', null];
/** Beyond so many records, some groups are deleted. */
const mostRecords = 1500;

/** Random numbers that are the same for a seed. */
export function randomOf(seed: number): (below: number) => number {
  const next = randomFrom(seed);
  return (below) => Math.floor(next() * below);
}

/** Writers of random records, for as long as they are let, over kills of their server. */
export class LiveWriters {
  /** Texts of what was acknowledged, by id and version. */
  readonly acknowledged = new Map<string, string>();
  /** Answers that there should not be. */
  readonly odd: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly #space: Space;
  readonly #random: (below: number) => number;
  readonly #isUp: () => Promise<unknown>;
  /** Of records that one writer alone writes, by key. */
  readonly #versions = new Map<string, number>();
  #ids: string[] = [];
  #keys = 0;
  #isOver = false;

  constructor(args: {
    readonly space: Space;
    readonly random: (below: number) => number;
    readonly isUp: () => Promise<unknown>;
  }) {
    this.#space = args.space;
    this.#random = args.random;
    this.#isUp = args.isUp;
  }

  /** Writes with several at once; the function ends it. */
  begin(writers: number): () => Promise<void> {
    this.#isOver = false;
    const all = Promise.all(Array.from({ length: writers }, (_, at) => this.#write(at)));
    return async () => {
      this.#isOver = true;
      await all;
    };
  }

  async #write(writer: number): Promise<void> {
    while (!this.#isOver) {
      await this.#isUp();
      const name = this.#choose();
      try {
        await (name === 'upsert' ? this.#upsert(writer) : this.#steps[name]());
        this.counts[name] = (this.counts[name] ?? 0) + 1;
      } catch (error) {
        const text = String(error);
        // the record is gone, or the server
        if (!/no_match|fetch failed|terminated|other side closed/.test(text))
          this.odd.push(`${name}: ${text}`);
        await sleep(5);
      }
    }
  }

  #choose(): Step | 'upsert' {
    if (this.#ids.length > mostRecords) return 'deleteMany';
    const at = this.#random(100);
    const [name] = (
      [
        ['insert', 25],
        ['insertMany', 27],
        ['update', 62],
        ['updateMany', 70],
        ['remove', 83],
        ['deleteMany', 87],
        ['upsert', 99],
        ['clear', 100],
      ] as const
    ).find(([, below]) => at < below) ?? ['update'];
    return name;
  }

  readonly #steps: Readonly<Record<Step, () => Promise<void>>> = {
    insert: async (): Promise<void> => {
      const made = await this.#space.insert(this.#records(1 + this.#random(6)));
      this.#note(made);
    },
    insertMany: async (): Promise<void> => {
      this.#note(await this.#space.insert(this.#records(210 + this.#random(200))));
    },
    update: async (): Promise<void> => {
      const id = this.#anyId();
      if (id === null) return;
      const { kind: _, ...values } = this.#values();
      this.#note([await this.#space.update(id, { ...values, version: { $inc: 1 } })]);
    },
    updateMany: async (): Promise<void> => {
      const where = { kind: 'free', group: this.#random(5), n: { gte: this.#random(100) } };
      const set = { word: words[this.#random(5)] ?? null, group: this.#random(5) };
      await this.#space.send('/_update_', { where, set, inc: { version: 1 } });
    },
    remove: async (): Promise<void> => {
      const id = this.#anyId();
      if (id === null) return;
      this.#ids = this.#ids.filter((other) => other !== id);
      await this.#space.remove(id);
    },
    deleteMany: async (): Promise<void> => {
      const isFull = this.#ids.length > mostRecords;
      await this.#space.send('/_delete_', {
        where: {
          kind: 'free',
          group: { in: [this.#random(5), this.#random(5)] },
          n: { gte: isFull ? 10 : 70 },
        },
      });
      if (isFull) this.#ids = (await this.#space.find('?kind=free&$select=id')).map(({ id }) => id);
    },
    clear: async (): Promise<void> => {
      await this.#space.clear();
      this.#ids = [];
    },
  };

  async #upsert(writer: number): Promise<void> {
    const versions = this.#versions;
    const records = Array.from({ length: 1 + this.#random(3) }, (_, at) => {
      const key = `up-${writer}-${at}-${this.#random(4)}`;
      const version = (versions.get(key) ?? 0) + 1;
      versions.set(key, version);
      return { ...this.#values(), key, kind: 'up', version };
    });
    const options = JSON.stringify({ onConflict: { field: 'key', do: 'update' } });
    await this.#space.send('', records, { headers: { options } });
  }

  #values(): Values {
    return {
      kind: 'free',
      group: this.#random(5),
      n: this.#random(100),
      on: this.#random(2) === 0,
      word: words[this.#random(5)] ?? null,
      tags: ['x', 'y', 'z'].slice(this.#random(4)),
      pad: 'p'.repeat(this.#random(1500)),
    };
  }

  #records(count: number): readonly Values[] {
    return Array.from({ length: count }, () => ({
      ...this.#values(),
      key: `k${++this.#keys}`,
      version: 1,
    }));
  }

  #note(records: readonly LiveRecord[]): void {
    for (const record of records) {
      if (record.version === 1) this.#ids.push(record.id);
      this.acknowledged.set(`${record.id} ${record.version}`, JSON.stringify(record));
    }
  }

  #anyId(): string | null {
    return this.#ids[this.#random(this.#ids.length || 1)] ?? null;
  }
}
