import { FlushedLog } from '../durable-files/flushed-log.ts';
import { overloaded } from '../errors/catalogue.ts';
import type { Log } from '../log/log.ts';
import type { CloudFile } from './cloud-file.ts';
import type { CloudFiles, FileTable } from './cloud-files.ts';
import { type FileRow, fileRow, fileRowOfLine } from './file-row.ts';

/** Names that one look at the table asks for. */
const namesAtOnce = 2000;
/** What one look at the table may take. Milliseconds. */
const lookLimit = 30_000;
/** Rows of one INSERT. */
const rowsAtOnce = 10_000;

export interface LoggedFiles extends CloudFiles {
  /** Brings what the write-ahead log holds into the table. What can't be stays in the write-ahead log for the next start. */
  close(): Promise<void>;
}

/**
 * Rows of files that are durable in a write-ahead log before the table has them, so that an upload costs one small write and not a part of
 * the table (docs/decisions/017-write-ahead-log-of-file-rows.md). For a table that nobody else reads: the embedded engine's. The
 * answers are those of the table with the log's rows in it.
 * @param args.directory of the write-ahead log @param args.flushAfter how long a row waits for others to come with it into the table. Milliseconds
 * @param args.pendingLimit bytes of rows that may wait for the table
 */
export async function openLoggedFiles(args: {
  table: FileTable;
  directory: string;
  log: Pick<Log, 'error' | 'warn' | 'info'>;
  flushAfter?: number;
  pendingLimit?: number;
}): Promise<LoggedFiles> {
  const { table, directory, log, flushAfter = 1000, pendingLimit = 64 * 1024 * 1024 } = args;
  /** Files whose rows are in the write-ahead log and perhaps not in the table. */
  const pending = new Map<string, CloudFile>();
  let pendingBytes = 0;

  const storeMissing = async (rows: readonly FileRow[]): Promise<void> => {
    for (let i = 0; i < rows.length; i += namesAtOnce) {
      const some = rows.slice(i, i + namesAtOnce);
      const names = some.map(({ name }) => name);
      const present = await table.namesWithRow(names, AbortSignal.timeout(lookLimit));
      const missing = some.filter(({ name }) => !present.has(name));
      if (missing.length > 0) await table.insertRows(missing);
    }
  };
  const storeAll = async (rows: readonly FileRow[]): Promise<void> => {
    for (let i = 0; i < rows.length; i += rowsAtOnce) await table.insertRows(rows.slice(i, i + rowsAtOnce));
  };
  const stored = (rows: readonly FileRow[]): void => {
    for (const { name, line } of rows) {
      const file = pending.get(name);
      if (file !== undefined) table.remember(file);
      pending.delete(name);
      pendingBytes -= line.byteLength;
    }
  };
  const flushed = await FlushedLog.open<FileRow>({
    ...{ what: 'files', directory, log, stored, entryOf: fileRowOfLine },
    store: (rows, again) => (again ? storeMissing(rows) : storeAll(rows)),
    times: { flushAfter, retryAfter: flushAfter },
  });
  // after what an earlier process left has come into the table
  const filter = table.openFilter(log);
  /** Brings into the table what is in the log now, acknowledged or not. */
  const flush = (): Promise<void> => flushed.flush(Number.POSITIVE_INFINITY);

  return {
    // a write to the write-ahead log costs little: nothing is worth waiting for
    announce: () => () => {},
    async insert(file, signal) {
      signal.throwIfAborted();
      const row = fileRow(file);
      const { line } = row;
      if (pendingBytes + line.byteLength > pendingLimit)
        throw overloaded('too many rows of files wait to be stored');
      pendingBytes += line.byteLength;
      pending.set(file.name, file);
      filter.add(file.name);
      try {
        await flushed.append(row);
      } catch (error) {
        pending.delete(file.name);
        pendingBytes -= line.byteLength;
        throw error;
      }
      flushed.number();
      flushed.schedule();
    },
    async findByName(name, signal) {
      const file = pending.get(name);
      if (file !== undefined) return file;
      return filter.mayHave(name) ? table.findByName(name, signal) : null;
    },
    async findByPrefixes(prefixes, signal) {
      // before the table is asked, which has a row no later than it is gone from here
      const waiting = [...pending.values()].filter(({ name }) =>
        prefixes.some((prefix) => name.startsWith(prefix)),
      );
      return [...waiting, ...(await table.findByPrefixes(prefixes, signal))];
    },
    async namesWithRow(names, signal) {
      await flush();
      return table.namesWithRow(names, signal);
    },
    async madeBetween(after, before, limit, signal) {
      await flush();
      return table.madeBetween(after, before, limit, signal);
    },
    async list(query, signal) {
      await flush();
      return table.list(query, signal);
    },
    async count(query, signal) {
      await flush();
      return table.count(query, signal);
    },
    async findByDigest(file, signal) {
      await flush();
      return table.findByDigest(file, signal);
    },
    async usedBy(ownerId, signal) {
      await flush();
      return table.usedBy(ownerId, signal);
    },
    async remove(name, signal) {
      await flush();
      return table.remove(name, signal);
    },
    close: () => flushed.close(),
  };
}
