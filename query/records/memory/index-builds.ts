import { LRUCache } from 'lru-cache';
import { type IndexShape, lookupShape, shapeText } from './index-shape.ts';
import type { MemoryTable } from './memory-table.ts';

/** Indexes of one space beside that of ids, and shapes of requests whose number is counted. */
const mostIndexes = 12;
const mostShapes = 50;
/** Bytes of a counted shape beside its text, and of a space with such shapes. */
const overhead = 500;
/** Indexes that wait to be built, of all spaces. */
const mostWanted = 100;
/** Building an index takes some two microseconds a row, a search by the engine eight thousand and more. */
const rowsPerSearch = 5000;
const rowsAtOnce = 100;
/** Milliseconds for which work in the background keeps the event loop from everything else. */
const busyFor = 2;

/** A table in memory. */
export interface HeldTable {
  readonly spaceId: string;
  readonly account: string;
  readonly table: MemoryTable;
  /** Shapes, as texts, of indexes that are never dropped: unique fields are looked up by them. */
  readonly lasting: ReadonlySet<string>;
  /** Whether all records of the space are there; false: it is still read. */
  whole: boolean;
  readonly dropped: AbortController;
  /** It was dropped because it does not fit. */
  isUnfit: boolean;
  bytes: number;
  usedAt: number;
  /** Ids of records that were written while others are being added. */
  readonly written: Set<string>;
  /** How many are adding records: the first reading of the space, and large inserts. */
  adding: number;
}

/** How often an index was lacking. */
interface Asked {
  readonly shape: IndexShape;
  times: number;
}

interface Args {
  /** Of the shapes that are counted. */
  readonly bytes: number;
  /** Its memory is to be counted. */
  readonly grown: (entry: HeldTable) => void;
  /** The part built so far is useless. */
  readonly failed: (entry: HeldTable) => void;
}

/** Builds indexes on demand: counts requests without one, and builds the wanted ones one by one, in the background. */
export class IndexBuilds {
  /** By space, and then by the text of the shape. */
  readonly #asked: LRUCache<string, Map<string, Asked>>;
  /** By space and shape: those that wait, and the one that is being built. */
  readonly #wanted = new Map<string, { readonly entry: HeldTable; readonly shape: IndexShape }>();
  readonly #args: Args;
  #building = false;

  constructor(args: Args) {
    this.#args = args;
    this.#asked = new LRUCache({ maxSize: Math.max(1, Math.floor(args.bytes)), sizeCalculation: bytesOf });
  }

  /** Begins the indexes of a table that has no rows yet: they get theirs as it does. @param unique slots of unique fields */
  begin(spaceId: string, table: MemoryTable, unique: readonly string[]): void {
    for (const shape of this.firstOf(spaceId, unique)) if (table.beginIndex(shape)) table.continueIndex(0);
    this.#asked.delete(spaceId);
  }

  /** The indexes that a table begins with, beside that of its ids. */
  firstOf(spaceId: string, unique: readonly string[]): readonly IndexShape[] {
    const asked = [...(this.#asked.get(spaceId)?.values() ?? [])].filter(({ times }) => times > 1);
    const often = asked.sort((a, b) => b.times - a.times).map(({ shape }) => shape);
    return [...unique.map(lookupShape), ...often.slice(0, mostIndexes / 2)];
  }

  /** A request for records of a space was not answered from memory: indexes of these shapes would have helped. */
  missed(spaceId: string, shapes: readonly IndexShape[], entry: HeldTable | undefined): void {
    const asked = this.#asked.get(spaceId) ?? new Map<string, Asked>();
    for (const shape of shapes) {
      const text = shapeText(shape);
      const known = asked.get(text) ?? { shape, times: 0 };
      // the one that was asked for longest ago makes room
      asked.delete(text);
      asked.set(text, known);
      if (asked.size > mostShapes) asked.delete(asked.keys().next().value as string);
      known.times++;
      if (entry?.whole !== true || known.times < 2 + entry.table.size / rowsPerSearch) continue;
      const name = `${spaceId} ${text}`;
      if (this.#wanted.has(name) || this.#wanted.size === mostWanted) continue;
      asked.delete(text);
      this.#wanted.set(name, { entry, shape });
      if (!this.#building) void this.#buildAll();
    }
    // one that stays is not measured again
    this.#asked.delete(spaceId);
    if (asked.size > 0) this.#asked.set(spaceId, asked);
  }

  async #buildAll(): Promise<void> {
    this.#building = true;
    // also those that come meanwhile
    for (const [name, { entry, shape }] of this.#wanted) {
      try {
        await this.#build(entry, shape);
      } catch {
        // no memory for it
        this.#args.failed(entry);
      }
      this.#wanted.delete(name);
    }
    this.#building = false;
  }

  async #build(entry: HeldTable, shape: IndexShape): Promise<void> {
    const { table, dropped, lasting } = entry;
    if (dropped.signal.aborted || table.hasIndex(shape)) return;
    const [, ...indexes] = table.indexes;
    if (indexes.length >= mostIndexes) {
      const [first, ...others] = indexes.filter((index) => !lasting.has(shapeText(index)));
      if (first === undefined) return;
      table.dropIndex(
        others.reduce((least, index) => (index.lastUse < least.lastUse ? index : least), first),
      );
    }
    if (!table.beginIndex(shape)) return;
    let began = performance.now();
    while (!dropped.signal.aborted && !table.continueIndex(rowsAtOnce)) {
      if (performance.now() - began < busyFor) continue;
      this.#args.grown(entry);
      await new Promise<void>((resolve) => setImmediate(resolve));
      began = performance.now();
    }
    this.#args.grown(entry);
  }
}

function bytesOf(asked: Map<string, Asked>): number {
  let bytes = overhead;
  for (const text of asked.keys()) bytes += overhead + 4 * text.length;
  return bytes;
}
