import type { IdFilter } from '#engine/id-filter.ts';
import { FlushedLog } from '#kernel/durable-files/flushed-log.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import type { CloudFile } from './cloud-file.ts';
import { type CloudFiles, type FileTable, published } from './cloud-files.ts';
import { type FileRow, fileRow, fileRowOfLine } from './file-row.ts';
import { type FilePlace, type FolderOf, placeKey, placeOfFile } from './folder-index.ts';

/** Names in one statement, and its deadline. Milliseconds. */
const namesAtOnce = 2000;
const namesTimeout = 30_000;
/** Rows of one INSERT. */
const rowsAtOnce = 10_000;

/**
 * Rows of files, durable in a write-ahead log before the table has them, so that an upload costs one small write
 * instead of a part of the table (docs/decisions/017-write-ahead-log-of-file-rows.md). Only for the embedded engine,
 * whose table nobody else reads. Answers include the rows of the log.
 */
export class LoggedFiles implements CloudFiles {
  readonly #table: FileTable;
  readonly #flushed: FlushedLog<FileRow>;
  readonly #filter: IdFilter;
  readonly #pendingLimit: number;
  /** Files whose rows are in the write-ahead log and perhaps not in the table. */
  readonly #pending = new Map<string, CloudFile>();
  /** The newest of them at each place of a folder. */
  readonly #pendingPlaces = new Map<string, CloudFile>();
  #pendingBytes = 0;

  private constructor(parts: {
    readonly table: FileTable;
    readonly flushed: FlushedLog<FileRow>;
    readonly filter: IdFilter;
    readonly pendingLimit: number;
  }) {
    this.#table = parts.table;
    this.#flushed = parts.flushed;
    this.#filter = parts.filter;
    this.#pendingLimit = parts.pendingLimit;
  }

  /**
   * Flushes the entries of an earlier process into the table first.
   * @param args.directory of the write-ahead log @param args.flushAfter milliseconds a row waits for others
   * @param args.pendingLimit bytes of rows that may wait for the table
   */
  static async open(args: {
    readonly table: FileTable;
    readonly directory: string;
    readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
    readonly flushAfter?: number;
    readonly pendingLimit?: number;
  }): Promise<LoggedFiles> {
    const { table, directory, log, flushAfter = 1000, pendingLimit = 64 * 1024 * 1024 } = args;
    const flushed = await FlushedLog.open<FileRow>({
      what: 'files',
      directory,
      log,
      entryOf: fileRowOfLine,
      store: (rows, again) => (again ? storeMissing(table, rows) : storeAll(table, rows)),
      // called only after a write, so `files` is set
      stored: (rows) => files.#stored(rows),
      times: { flushAfter, retryAfter: flushAfter },
    });
    // the filter reads the table, which has the entries of an earlier process by now
    const files = new LoggedFiles({ table, flushed, filter: table.openFilter(log), pendingLimit });
    return files;
  }

  /** A write to the log is cheap, so no INSERT has to wait for announced rows. */
  announce(): () => void {
    return () => {};
  }

  async insert(file: CloudFile, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const row = fileRow(file);
    const { byteLength } = row.line;
    if (this.#pendingBytes + byteLength > this.#pendingLimit)
      throw overloaded('too many rows of files wait to be stored');
    this.#pendingBytes += byteLength;
    this.#pending.set(file.name, file);
    this.#filter.add(file.name);
    try {
      await this.#flushed.append(row);
    } catch (error) {
      this.#pending.delete(file.name);
      this.#pendingBytes -= byteLength;
      throw error;
    }
    this.#place(file);
    this.#flushed.number();
    this.#flushed.schedule();
  }

  async findByName(name: string, signal: AbortSignal): Promise<CloudFile | null> {
    return published(await this.findAny(name, signal));
  }

  async findAny(name: string, signal: AbortSignal): Promise<CloudFile | null> {
    const file = this.#pending.get(name);
    if (file !== undefined) return file;
    return this.#filter.mayHave(name) ? this.#table.findAny(name, signal) : null;
  }

  async findInFolder(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null> {
    const file = published(this.#pendingPlaces.get(placeKey(place)));
    return file ?? this.#table.findInFolder(place, signal);
  }

  /** This process is the only one that puts files anywhere. */
  currentInFolder(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null> {
    return this.findInFolder(place, signal);
  }

  ownerOfFolder(folder: string, signal: AbortSignal): Promise<FolderOf | null> {
    return this.#table.ownerOfFolder(folder, signal);
  }

  async findByPrefixes(prefixes: readonly string[], signal: AbortSignal): Promise<readonly CloudFile[]> {
    // read this first: a row leaves #pending only once the table has it
    const waiting = [...this.#pending.values()].filter(({ name }) =>
      prefixes.some((prefix) => name.startsWith(prefix)),
    );
    return [...waiting, ...(await this.#table.findByPrefixes(prefixes, signal))];
  }

  readonly namesWithRow: CloudFiles['namesWithRow'] = async (...args) =>
    (await this.#wholeTable()).namesWithRow(...args);
  readonly madeBetween: CloudFiles['madeBetween'] = async (...args) =>
    (await this.#wholeTable()).madeBetween(...args);
  readonly replacedBetween: CloudFiles['replacedBetween'] = async (...args) =>
    (await this.#wholeTable()).replacedBetween(...args);
  readonly withState: CloudFiles['withState'] = async (...args) =>
    (await this.#wholeTable()).withState(...args);
  readonly findDue: CloudFiles['findDue'] = async (...args) => (await this.#wholeTable()).findDue(...args);
  readonly list: CloudFiles['list'] = async (...args) => (await this.#wholeTable()).list(...args);
  readonly count: CloudFiles['count'] = async (...args) => (await this.#wholeTable()).count(...args);
  readonly findByDigest: CloudFiles['findByDigest'] = async (...args) =>
    (await this.#wholeTable()).findByDigest(...args);
  readonly usedBy: CloudFiles['usedBy'] = async (...args) => (await this.#wholeTable()).usedBy(...args);

  async removeOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    await (await this.#wholeTable()).removeOwner(ownerId, signal);
  }

  async change(...args: Parameters<CloudFiles['change']>): Promise<void> {
    await (await this.#wholeTable()).change(...args);
  }

  async remove(name: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#wholeTable()).remove(name, signal);
  }

  /** Flushes the write-ahead log into the table. Rows that fail stay in it for the next start. */
  close(): Promise<void> {
    return this.#flushed.close();
  }

  /** The table, after a flush of everything that is in the log now. */
  async #wholeTable(): Promise<FileTable> {
    await this.#flushed.flush(Number.POSITIVE_INFINITY);
    return this.#table;
  }

  #place(file: CloudFile): void {
    const place = placeOfFile(file);
    if (place === null) return;
    if (this.#pending.has(file.name)) this.#pendingPlaces.set(placeKey(place), file);
    // from now on the folder is known
    this.#table.placed(file);
  }

  #stored(rows: readonly FileRow[]): void {
    for (const { name, line } of rows) {
      const file = this.#pending.get(name);
      if (file !== undefined) {
        this.#table.remember(file);
        const place = placeOfFile(file);
        if (place !== null && this.#pendingPlaces.get(placeKey(place)) === file)
          this.#pendingPlaces.delete(placeKey(place));
      }
      this.#pending.delete(name);
      this.#pendingBytes -= line.byteLength;
    }
  }
}

async function storeAll(table: FileTable, rows: readonly FileRow[]): Promise<void> {
  for (let i = 0; i < rows.length; i += rowsAtOnce) await table.insertRows(rows.slice(i, i + rowsAtOnce));
}

async function storeMissing(table: FileTable, rows: readonly FileRow[]): Promise<void> {
  for (let i = 0; i < rows.length; i += namesAtOnce) {
    const some = rows.slice(i, i + namesAtOnce);
    const names = some.map(({ name }) => name);
    const present = await table.namesWithRow(names, AbortSignal.timeout(namesTimeout));
    const missing = some.filter(({ name }) => !present.has(name));
    if (missing.length > 0) await table.insertRows(missing);
  }
}
