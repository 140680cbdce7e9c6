import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { CloudFile } from './cloud-file.ts';
import type { FileStatements } from './file-statements.ts';
import { NameBatcher } from './name-batcher.ts';

const cachedFiles = 10_000;
/** How long a row is cached where other processes change it: if changes are announced, or not. Milliseconds. */
const cachedFor = { announced: 60_000, otherwise: 5000 };
/** How many missing names are cached, and for how long. Milliseconds. */
const missingNames = 10_000;
const missingFor = 1000;
/** Longer than a lookup takes. Milliseconds. */
const removedFor = 60_000;

interface CachedRow {
  readonly file: CloudFile;
  readonly read: ReadMoment;
}

/** By which a change of a file is announced. */
export function fileId(name: string): string {
  return `file:${name}`;
}

/** A cache of rows in front of the table. */
export class FileRowCache {
  readonly #statements: Pick<FileStatements, 'byNames'>;
  readonly #counts: CacheCounts;
  readonly #lookups: NameBatcher<ReadonlyMap<string, CloudFile>>;
  readonly #files: LRUCache<string, CachedRow>;
  readonly #freshness: Freshness;
  readonly #missing = new LRUCache<string, true>({ ...upTo(missingNames), ttl: missingFor });
  /** A lookup that began before the removal may end after it. Only a copy has a name that was removed. */
  readonly #removed = new LRUCache<string, true>({ ...upTo(cachedFiles), ttl: removedFor });

  /** Changes of this process: what was read before one is not cached after it. */
  #changes = 0;

  /** @param args.singleWriter no other process changes files */
  constructor(args: {
    readonly statements: Pick<FileStatements, 'byNames'>;
    readonly singleWriter: boolean;
    readonly metrics: Pick<Metrics, 'cache' | 'batch'>;
    /** Announces changes by other processes. */
    readonly invalidation?: Invalidation | undefined;
  }) {
    const { statements, singleWriter, metrics, invalidation = unannounced } = args;
    const onLookup = metrics.batch('file_lookups');
    this.#statements = statements;
    this.#counts = metrics.cache('files');
    this.#files = new LRUCache({ ...upTo(cachedFiles), ttl: singleWriter ? 0 : cachedFor.announced });
    this.#freshness = new Freshness({
      invalidation,
      announcedFor: cachedFor.announced,
      otherwiseFor: singleWriter ? Number.POSITIVE_INFINITY : cachedFor.otherwise,
    });
    this.#lookups = new NameBatcher((names, signal) => {
      onLookup(names.length);
      return statements.byNames(names, signal);
    });
  }

  /** Caches a file that the table has now. */
  note(file: CloudFile): void {
    this.#files.set(file.name, { file, read: this.#freshness.begin() });
    this.#missing.delete(file.name);
    this.#removed.delete(file.name);
  }

  async find(name: string, signal: AbortSignal): Promise<CloudFile | null> {
    const cached = this.#counts.count(this.#cached(name));
    if (cached !== undefined) return cached;
    signal.throwIfAborted();
    if (this.#removed.has(name) || this.#missing.has(name)) return null;
    const moment = this.#begin();
    const file = (await this.#lookups.run(name, signal)).get(name);
    if (file === undefined) this.#missing.set(name, true);
    if (file === undefined || this.#removed.has(name)) return null;
    this.#keep(file, moment);
    return file;
  }

  /** Call it before reading the table. */
  #begin(): { readonly read: ReadMoment; readonly changes: number } {
    return { read: this.#freshness.begin(), changes: this.#changes };
  }

  /** Caches a file that the table had then, unless this process has changed one since. */
  #keep(file: CloudFile, { read, changes }: { readonly read: ReadMoment; readonly changes: number }): void {
    if (changes === this.#changes) this.#files.set(file.name, { file, read });
  }

  #cached(name: string): CloudFile | undefined {
    const cached = this.#files.get(name);
    return cached !== undefined && this.#freshness.isFresh(fileId(name), cached.read)
      ? cached.file
      : undefined;
  }

  /** The stored files among the names. Cached ones are not read again: names are spread all over the table. */
  async findAll(
    names: readonly string[],
    account: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, CloudFile>> {
    const files = new Map(names.flatMap((name) => this.#cached(name) ?? []).map((file) => [file.name, file]));
    const moment = this.#begin();
    const others = names.filter((name) => !files.has(name) && !this.#removed.has(name));
    for (const [name, file] of await this.#statements.byNames(others, signal, account)) {
      if (this.#removed.has(name)) continue;
      this.#keep(file, moment);
      files.set(name, file);
    }
    return files;
  }

  /** Caches the files that a statement finds, unless they change meanwhile. */
  async found(read: () => Promise<readonly CloudFile[]>): Promise<readonly CloudFile[]> {
    const moment = this.#begin();
    const files = (await read()).filter(({ name }) => !this.#removed.has(name));
    for (const file of files) this.#keep(file, moment);
    return files;
  }

  /** Forgets files that are changed. */
  async changing(names: readonly string[], change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } finally {
      this.#changes++;
      for (const name of names) this.#files.delete(name);
    }
  }

  /** Hides the file from now on, unless the removal fails: a second attempt has to find it. */
  async removing(name: string, remove: () => Promise<boolean>): Promise<boolean> {
    this.#removed.set(name, true);
    this.#files.delete(name);
    try {
      return await remove();
    } catch (error) {
      this.#removed.delete(name);
      throw error;
    }
  }
}
