import { LRUCache } from 'lru-cache';
import { untilAborted } from '../abort/until-aborted.ts';

/** What a look at the table may take. Milliseconds. */
const lookLimit = 30_000;
const namesAtOnce = 500;
/** Names that are remembered as missing, and for how long. Milliseconds. */
const missingNames = 10_000;
const missingFor = 1000;

interface Look<File> {
  readonly names: Set<string>;
  readonly found: Promise<ReadonlyMap<string, File>>;
}

/**
 * Finds files by their names. A statement for one name costs milliseconds, for many names little more: while one look is
 * under way, the names that come gather for the next. A missing file is missing for a second, however often it is asked for.
 */
export class FileLookup<File> {
  readonly #find: (names: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, File>>;
  readonly #missing = new LRUCache<string, true>({ max: missingNames, ttl: missingFor });
  #last: Promise<unknown> = Promise.resolve();
  #next: Look<File> | null = null;

  /** @param find one statement for all names */
  constructor(find: (names: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, File>>) {
    this.#find = find;
  }

  async find(name: string, signal: AbortSignal): Promise<File | null> {
    signal.throwIfAborted();
    if (this.#missing.has(name)) return null;
    if (this.#next === null || this.#next.names.size >= namesAtOnce) this.#next = this.#prepare();
    this.#next.names.add(name);
    const file = (await untilAborted(this.#next.found, signal)).get(name);
    if (file !== undefined) return file;
    this.#missing.set(name, true);
    return null;
  }

  /** The file is there now. */
  made(name: string): void {
    this.#missing.delete(name);
  }

  #prepare(): Look<File> {
    const names = new Set<string>();
    const found = this.#last
      .catch(() => {})
      .then(() => {
        // who comes from now on needs the next one
        if (this.#next?.names === names) this.#next = null;
        return this.#find([...names], AbortSignal.timeout(lookLimit));
      });
    this.#last = found;
    found.catch(() => {});
    return { names, found };
  }
}
