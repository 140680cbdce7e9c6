import type { Log } from '#kernel/log/log.ts';

/** Bits per key, and probes: a false positive rate of one percent. */
const bitsPerKey = 10;
const probes = 7;
/** Bytes of a row of the source: two little-endian words of 32 bits. */
const rowBytes = 8;

/** The source of a filter. */
interface FilterSource {
  readonly count: () => Promise<number>;
  /** In RowBinary. */
  readonly rows: () => Promise<AsyncIterable<Uint8Array>>;
}

interface Layer {
  readonly bits: Uint32Array;
  readonly size: number;
}

/**
 * A Bloom filter over a table's keys of 64 random bits, for the only writer of that table: it saves the statement for an
 * unknown key. It is filled by streaming the table once. Until then, or with too many keys, it answers "maybe" for every
 * key. It grows by layers, each twice as large as the last.
 */
export class StreamedFilter {
  readonly #smallest: number;
  readonly #largest: number;
  #layers: Layer[] | null = null;
  /** Capacity of all layers in keys, and the rest of it. */
  #capacity = 0;
  #left = 0;
  /** Words of keys that were added while the table was streamed. */
  #added: number[] | null = [];

  /** @param args least and greatest capacity in keys */
  constructor(args: { readonly smallest: number; readonly largest: number }) {
    this.#smallest = args.smallest;
    this.#largest = args.largest;
  }

  /** Fills the filter in the background; until then it answers "maybe". @param what noun for its rows in the log */
  fillLater(source: FilterSource, what: string, log: Pick<Log, 'warn'>): void {
    this.fill(source).catch((error: unknown) => {
      log.warn({ err: error }, `the filter of ${what} could not be filled: each of them is looked up`);
    });
  }

  /** Called once. Rejects if the table can't be read; then the filter answers "maybe" for every key. */
  async fill(source: FilterSource): Promise<void> {
    try {
      const count = await source.count();
      const capacity = Math.max(this.#smallest, count * 2);
      if (capacity > this.#largest) return;
      const layer = layerOf(capacity);
      await eachRow(await source.rows(), (low, high) => setBits(layer, low, high));
      const added = this.#added;
      if (added === null) return;
      this.#layers = [layer];
      this.#capacity = capacity;
      this.#left = capacity - count;
      for (let i = 0; i < added.length; i += 2) this.add(added[i] as number, added[i + 1] as number);
    } finally {
      this.#added = null;
    }
  }

  /** Call it before the key is written. */
  add(low: number, high: number): void {
    if (this.#layers === null) {
      // more of them would take more memory than the filter
      if (this.#added !== null && this.#added.push(low, high) > 2 * this.#smallest) this.#added = null;
      return;
    }
    setBits(this.#layers.at(-1) as Layer, low, high);
    if (--this.#left <= 0) this.#grow();
  }

  /** Adds keys that were written without it. @param rows of RowBinary */
  async addAll(rows: AsyncIterable<Uint8Array>): Promise<void> {
    await eachRow(rows, (low, high) => this.add(low, high));
  }

  /** False: the key was never added. */
  mayHave(low: number, high: number): boolean {
    return this.#layers === null || this.#layers.some((layer) => hasBits(layer, low, high));
  }

  #grow(): void {
    const capacity = this.#capacity * 2;
    if (this.#capacity + capacity > this.#largest) {
      this.#layers = null;
      return;
    }
    this.#layers?.push(layerOf(capacity));
    this.#capacity += capacity;
    this.#left = capacity;
  }
}

function layerOf(capacity: number): Layer {
  const size = capacity * bitsPerKey;
  return { size, bits: new Uint32Array(Math.ceil(size / 32)) };
}

function setBits({ bits, size }: Layer, low: number, high: number): void {
  for (let probe = 0; probe < probes; probe++) {
    const bit = place(low, high, probe, size);
    bits[bit >>> 5] = (bits[bit >>> 5] as number) | (1 << (bit & 31));
  }
}

function hasBits({ bits, size }: Layer, low: number, high: number): boolean {
  for (let probe = 0; probe < probes; probe++) {
    const bit = place(low, high, probe, size);
    if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
}

/** Kirsch and Mitzenmacher: any number of hashes from two. */
function place(low: number, high: number, probe: number, size: number): number {
  return ((low >>> 0) + probe * (high >>> 0)) % size;
}

async function eachRow(
  rows: AsyncIterable<Uint8Array>,
  work: (low: number, high: number) => void,
): Promise<void> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of rows) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.byteLength - (bytes.byteLength % rowBytes);
    for (let at = 0; at < whole; at += rowBytes) work(bytes.readInt32LE(at), bytes.readInt32LE(at + 4));
    rest = bytes.subarray(whole);
  }
}
