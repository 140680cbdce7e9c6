const shards = 64;
const shardShift = 26;
/** How full a table may be, and how much larger the next one is. */
const fullest = 0.8;
const growth = 1.5;
const smallest = 8;
const entryBytes = 8;

/** Open addressing with linear probing: a hash and a number that is not 0, one after the other. */
interface Table {
  words: Uint32Array;
  capacity: number;
  used: number;
}

/**
 * Numbers by 32-bit hashes, of which several may be equal. In many small tables, so that none takes long to grow; they
 * only grow.
 */
export class HashIndex {
  readonly #tables: Table[] = Array.from({ length: shards }, () => ({
    words: new Uint32Array(0),
    capacity: 0,
    used: 0,
  }));
  /** What it takes. */
  bytes = 0;

  add(hash: number, number: number): void {
    const table = this.#tables[hash >>> shardShift] as Table;
    if (table.used + 1 > table.capacity * fullest) this.#grow(table);
    insert(table, hash, number);
    table.used++;
  }

  /** The first number of a hash that the test takes; 0: there is none. */
  find(hash: number, takes: (number: number) => boolean): number {
    const { words, capacity } = this.#tables[hash >>> shardShift] as Table;
    if (capacity === 0) return 0;
    for (let at = homeOf(hash, capacity); ; at = at + 1 === capacity ? 0 : at + 1) {
      const number = words[2 * at + 1] as number;
      if (number === 0) return 0;
      if (words[2 * at] === hash && takes(number)) return number;
    }
  }

  replace(hash: number, number: number, other: number): void {
    const table = this.#tables[hash >>> shardShift] as Table;
    table.words[2 * placeOf(table, hash, number) + 1] = other;
  }

  /** What comes behind it moves up, so that every entry is found from its home on without a gap. */
  remove(hash: number, number: number): void {
    const table = this.#tables[hash >>> shardShift] as Table;
    const { words, capacity } = table;
    let gap = placeOf(table, hash, number);
    for (let at = (gap + 1) % capacity; words[2 * at + 1] !== 0; at = (at + 1) % capacity) {
      const home = homeOf(words[2 * at] as number, capacity);
      // one whose home lies behind the gap stays
      if ((at - home + capacity) % capacity < (at - gap + capacity) % capacity) continue;
      words[2 * gap] = words[2 * at] as number;
      words[2 * gap + 1] = words[2 * at + 1] as number;
      gap = at;
    }
    words[2 * gap + 1] = 0;
    table.used--;
  }

  #grow(table: Table): void {
    const capacity = Math.max(smallest, Math.ceil(table.capacity * growth));
    const before = table.words;
    this.bytes += (capacity - table.capacity) * entryBytes;
    table.capacity = capacity;
    table.words = new Uint32Array(2 * capacity);
    for (let at = 0; at < before.length; at += 2) {
      if (before[at + 1] !== 0) insert(table, before[at] as number, before[at + 1] as number);
    }
  }
}

function insert({ words, capacity }: Table, hash: number, number: number): void {
  let at = homeOf(hash, capacity);
  while (words[2 * at + 1] !== 0) at = at + 1 === capacity ? 0 : at + 1;
  words[2 * at] = hash;
  words[2 * at + 1] = number;
}

/** By the bits that do not choose the table. */
function homeOf(hash: number, capacity: number): number {
  return Math.floor((((hash << (32 - shardShift)) >>> 0) / 2 ** 32) * capacity);
}

function placeOf({ words, capacity }: Table, hash: number, number: number): number {
  let at = homeOf(hash, capacity);
  while (words[2 * at] !== hash || words[2 * at + 1] !== number) {
    if (words[2 * at + 1] === 0) throw new Error('the index lacks an entry');
    at = at + 1 === capacity ? 0 : at + 1;
  }
  return at;
}
