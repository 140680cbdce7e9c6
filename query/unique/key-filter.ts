import type { Database } from '../../common/clickhouse/database.ts';
import type { Log } from '../../common/log/log.ts';
import { keyWords, type RecordsTable } from '../sql/records-table.ts';

/** Bits a key, and probes: one value in a hundred that is not there seems to be. */
const bitsPerKey = 10;
const probes = 7;
/** Keys that the filter is made for at least, and at most (40 MB). */
const smallest = 1_000_000;
const largest = 32_000_000;
/** Bytes of a row of `allKeys`: two words of the key, two of the space. */
const rowBytes = 16;

/**
 * Which unique values may be stored: a Bloom filter over the table of keys, for a process that is the only writer of its
 * store. A value that is surely new needs no look into the engine. Made by streaming the table once; until then, and in
 * a store with more keys than it is made for, every value may be there.
 */
export class KeyFilter {
  #bits: Uint32Array | null = null;
  #size = 0;
  #left = 0;
  /** Keys that were written while the table was streamed. */
  #written: [number, number][] | null = [];

  /** Also again, when keys were written without it. Rejects when the table can't be read; then every value may be stored. */
  async fill({ db, table }: { readonly db: Database; readonly table: RecordsTable }): Promise<void> {
    this.#bits = null;
    this.#written = [];
    const [{ keys } = { keys: 0 }] = await db.rows<{ keys: number }>(table.countKeys());
    if (keys > largest / 2) return this.#giveUp();
    const capacity = Math.max(smallest, keys * 2);
    this.#size = capacity * bitsPerKey;
    this.#left = capacity - keys;
    const bits = new Uint32Array(Math.ceil(this.#size / 32));
    let rest: Uint8Array = new Uint8Array();
    for await (const chunk of await db.stream({ ...table.allKeys(), format: 'RowBinary' })) {
      const bytes = Buffer.concat([rest, chunk]);
      const whole = bytes.byteLength - (bytes.byteLength % rowBytes);
      for (let at = 0; at < whole; at += rowBytes) {
        const low = bytes.readUInt32LE(at) ^ bytes.readUInt32LE(at + 8);
        const high = bytes.readUInt32LE(at + 4) ^ bytes.readUInt32LE(at + 12);
        this.#set(bits, low, high);
      }
      rest = bytes.subarray(whole);
    }
    for (const [low, high] of this.#written ?? []) this.#set(bits, low, high);
    this.#written = null;
    this.#bits = bits;
  }

  /** To be called before a key is written. @param hash of the value (`hashOf`) */
  add(spaceId: string, hash: string): void {
    this.#add(keyWords(spaceId, hash));
  }

  /** The same for a key that was made before. */
  addKey(spaceId: string, key: bigint): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(key);
    this.#add(keyWords(spaceId, bytes.toString('latin1')));
  }

  #add([low, high]: readonly [number, number]): void {
    if (this.#bits === null) {
      if (this.#written !== null && this.#written.push([low, high]) > smallest) this.#giveUp();
      return;
    }
    this.#set(this.#bits, low, high);
    if (--this.#left < 0) this.#giveUp();
  }

  /** False: no record of the space has the value, and none had. */
  mayHave(spaceId: string, hash: string): boolean {
    const bits = this.#bits;
    if (bits === null) return true;
    const [low, high] = keyWords(spaceId, hash);
    for (let probe = 0; probe < probes; probe++) {
      const bit = this.#place(low, high, probe);
      if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  #set(bits: Uint32Array, low: number, high: number): void {
    for (let probe = 0; probe < probes; probe++) {
      const bit = this.#place(low, high, probe);
      bits[bit >>> 5] = (bits[bit >>> 5] as number) | (1 << (bit & 31));
    }
  }

  /** Kirsch and Mitzenmacher: two hashes make as many as are needed. */
  #place(low: number, high: number, probe: number): number {
    return ((low >>> 0) + probe * (high >>> 0)) % this.#size;
  }

  #giveUp(): void {
    this.#bits = null;
    this.#written = null;
  }
}

/** Fills a filter in the background; requests do without it until then. */
export function openKeyFilter(deps: {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly log?: Pick<Log, 'warn'> | undefined;
}): KeyFilter {
  const filter = new KeyFilter();
  filter.fill(deps).catch((error: unknown) => {
    deps.log?.warn({ err: error }, 'the filter of unique values could not be made: each is looked up');
  });
  return filter;
}
