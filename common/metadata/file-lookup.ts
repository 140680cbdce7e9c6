import { LRUCache } from 'lru-cache';
import { upTo } from '../limits/up-to.ts';
import { GatheredNames } from './gathered-names.ts';

/** Names that are remembered as missing, and for how long. Milliseconds. */
const missingNames = 10_000;
const missingFor = 1000;

/** Finds files by their names. A missing file is missing for a second, however often it is asked for. */
export class FileLookup<File> {
  readonly #lookups: GatheredNames<ReadonlyMap<string, File>>;
  readonly #missing = new LRUCache<string, true>({ ...upTo(missingNames), ttl: missingFor });

  /** @param find one statement for all names */
  constructor(find: (names: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, File>>) {
    this.#lookups = new GatheredNames(find);
  }

  async find(name: string, signal: AbortSignal): Promise<File | null> {
    signal.throwIfAborted();
    if (this.#missing.has(name)) return null;
    const file = (await this.#lookups.run(name, signal)).get(name);
    if (file !== undefined) return file;
    this.#missing.set(name, true);
    return null;
  }

  /** The file is there now. */
  made(name: string): void {
    this.#missing.delete(name);
  }
}
