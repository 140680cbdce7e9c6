import { LRUCache } from 'lru-cache';
import { type IndexShape, lookupShape, shapeText } from './index-shape.ts';
import type { MemoryTable } from './memory-table.ts';

/** Indexes of one space in addition to the index of ids, and shapes of requests that are counted. */
const mostIndexes = 12;
const mostShapes = 50;
/** Bytes of a counted shape in addition to its text, and of a space with such shapes. */
const overhead = 500;
/** Indexes that wait to be built, of all spaces. */
const mostWanted = 100;
/** Building an index takes some two microseconds a row, a search by the engine eight thousand and more. */
const rowsPerSearch = 5000;
const rowsAtOnce = 100;
/** Milliseconds for which background work may block the event loop. */
const busyFor = 2;

/** A table in memory. */
export interface HeldTable {
  readonly spaceId: string;
  readonly account: string;
  readonly table: MemoryTable;
  /** Shapes, as texts, of indexes that are never dropped: unique fields are looked up by them. */
  readonly lasting: ReadonlySet<string>;
  /** Whether it has all records of the space; false: still loading. */
  whole: boolean;
  readonly dropped: AbortController;
  /** It was dropped because it does not fit. */
  isUnfit: boolean;
  bytes: number;
  usedAt: number;
  /** Ids of records that were written while others are being added. */
  readonly written: Set<string>;
  /** How many tasks are adding records: the first load of the space, and large inserts. */
  adding: number;
}

/** How often an index was lacking. */
interface ShapeCount {
  readonly shape: IndexShape;
  times: number;
}

interface IndexBuildsParts {
  /** For counting shapes. */
  readonly bytes: number;
  /** Called when the table's memory has to be counted again. */
  readonly grown: (entry: HeldTable) => void;
  /** Called when a build failed: the part built so far is useless. */
  readonly failed: (entry: HeldTable) => void;
}

/** Builds indexes on demand: counts requests without one, and builds the wanted ones one by one, in the background. */
export class IndexBuilds {
  /** By space, and then by the text of the shape. */
  readonly #counts: LRUCache<string, Map<string, ShapeCount>>;
  /** By space and shape: indexes that wait to be built, and the one being built. */
  readonly #wanted = new Map<string, { readonly entry: HeldTable; readonly shape: IndexShape }>();
  readonly #args: IndexBuildsParts;
  #building = false;

  constructor(args: IndexBuildsParts) {
    this.#args = args;
    this.#counts = new LRUCache({ maxSize: Math.max(1, Math.floor(args.bytes)), sizeCalculation: bytesOf });
  }

  /** Creates the indexes of an empty table: they are filled with it. @param unique slots of unique fields */
  begin(spaceId: string, table: MemoryTable, unique: readonly string[]): void {
    for (const shape of this.firstOf(spaceId, unique)) if (table.beginIndex(shape)) table.continueIndex(0);
    this.#counts.delete(spaceId);
  }

  /** The indexes that a table begins with, in addition to the index of ids. */
  firstOf(spaceId: string, unique: readonly string[]): readonly IndexShape[] {
    const counts = [...(this.#counts.get(spaceId)?.values() ?? [])].filter(({ times }) => times > 1);
    const often = counts.sort((a, b) => b.times - a.times).map(({ shape }) => shape);
    return [...unique.map(lookupShape), ...often.slice(0, mostIndexes / 2)];
  }

  /** A request for records of a space was not answered from memory: indexes of these shapes would have helped. */
  missed(spaceId: string, shapes: readonly IndexShape[], entry: HeldTable | undefined): void {
    const counts = this.#counts.get(spaceId) ?? new Map<string, ShapeCount>();
    for (const shape of shapes) {
      const text = shapeText(shape);
      const known = counts.get(text) ?? { shape, times: 0 };
      // the least recently requested shape makes room
      counts.delete(text);
      counts.set(text, known);
      if (counts.size > mostShapes) counts.delete(counts.keys().next().value as string);
      known.times++;
      if (entry?.whole !== true || known.times < 2 + entry.table.size / rowsPerSearch) continue;
      const name = `${spaceId} ${text}`;
      if (this.#wanted.has(name) || this.#wanted.size === mostWanted) continue;
      counts.delete(text);
      this.#wanted.set(name, { entry, shape });
      if (!this.#building) void this.#buildAll();
    }
    // set again, so that its size is measured again
    this.#counts.delete(spaceId);
    if (counts.size > 0) this.#counts.set(spaceId, counts);
  }

  async #buildAll(): Promise<void> {
    this.#building = true;
    // also builds that are added meanwhile
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

function bytesOf(counts: Map<string, ShapeCount>): number {
  let bytes = overhead;
  for (const text of counts.keys()) bytes += overhead + 4 * text.length;
  return bytes;
}
