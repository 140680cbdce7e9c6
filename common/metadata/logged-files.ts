import { setTimeout as sleep } from 'node:timers/promises';
import { overloaded } from '../errors/catalogue.ts';
import type { Log } from '../log/log.ts';
import { type LogSegment, WriteAheadLog } from '../write-ahead-log/write-ahead-log.ts';
import type { CloudFile, CloudFiles, FileTable } from './cloud-files.ts';
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
 * @param args.directory of the write-ahead log @param args.settleEvery how often the table gets what has come. Milliseconds
 * @param args.pendingLimit bytes of rows that may wait for the table
 */
export async function openLoggedFiles(args: {
  table: FileTable;
  directory: string;
  log: Pick<Log, 'error' | 'warn' | 'info'>;
  settleEvery?: number;
  pendingLimit?: number;
}): Promise<LoggedFiles> {
  const { table, directory, log, settleEvery = 1000, pendingLimit = 64 * 1024 * 1024 } = args;
  const { wal, left } = await WriteAheadLog.open(directory, fileRowOfLine);
  /** Files whose rows are in the write-ahead log and perhaps not in the table. */
  const pending = new Map<string, CloudFile>();
  let pendingBytes = 0;
  let closed = false;

  const storeMissing = async (rows: readonly FileRow[]): Promise<void> => {
    for (let i = 0; i < rows.length; i += namesAtOnce) {
      const some = rows.slice(i, i + namesAtOnce);
      const names = some.map(({ name }) => name);
      const present = await table.namesWithRow(names, AbortSignal.timeout(lookLimit));
      const missing = some.filter(({ name }) => !present.has(name));
      if (missing.length > 0) await table.insertRows(missing);
    }
  };

  for (const segment of left) {
    await storeMissing(segment.entries);
    await segment.drop();
    log.info({ files: segment.entries.length }, 'the write-ahead log of files was brought into the table');
    const { damage } = segment;
    if (damage === null) continue;
    if (damage.lines > 0)
      log.error({ damage }, 'rows in the write-ahead log of files are damaged: it is kept aside');
    else log.warn({ damage }, 'the write-ahead log of files ends in the middle of a row: it is kept aside');
  }

  /** Sealed and not in the table yet. The first may have been tried before. */
  const sealed: { readonly segment: LogSegment<FileRow>; tried: boolean }[] = [];

  const settleSealed = async (): Promise<void> => {
    const segment = await wal.seal();
    if (segment !== null) sealed.push({ segment, tried: false });
    for (let next = sealed[0]; next !== undefined; next = sealed[0]) {
      const rows = next.segment.entries;
      if (next.tried) await storeMissing(rows);
      else {
        next.tried = true;
        for (let i = 0; i < rows.length; i += rowsAtOnce)
          await table.insertRows(rows.slice(i, i + rowsAtOnce));
      }
      sealed.shift();
      for (const { name, line } of rows) {
        const file = pending.get(name);
        if (file !== undefined) table.remember(file);
        pending.delete(name);
        pendingBytes -= line.byteLength;
      }
      await next.segment.drop();
    }
  };

  /** Brings into the table what is in the write-ahead log now. One at a time: who comes meanwhile needs the next one. */
  let settling: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const settle = (): Promise<void> => {
    next ??= settling
      .catch(() => {})
      .then(() => {
        next = null;
        settling = settleSealed();
        return settling;
      });
    return next;
  };

  const wake = new AbortController();
  const settleAgainAndAgain = async (): Promise<void> => {
    while (!closed) {
      await sleep(settleEvery, undefined, { signal: wake.signal, ref: false }).catch(() => {});
      if (pending.size === 0) continue;
      await settle().catch((error: unknown) => {
        log.error(
          { err: error, files: pending.size },
          'rows of files wait in the write-ahead log: the table does not take them',
        );
      });
    }
  };
  const loop = settleAgainAndAgain();

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
      try {
        await wal.append(row);
      } catch (error) {
        pending.delete(file.name);
        pendingBytes -= line.byteLength;
        throw error;
      }
    },
    async findByName(name, signal) {
      return pending.get(name) ?? table.findByName(name, signal);
    },
    async namesWithRow(names, signal) {
      await settle();
      return table.namesWithRow(names, signal);
    },
    async madeBetween(after, before, limit, signal) {
      await settle();
      return table.madeBetween(after, before, limit, signal);
    },
    async list(query, signal) {
      await settle();
      return table.list(query, signal);
    },
    async usedBy(ownerId, signal) {
      await settle();
      return table.usedBy(ownerId, signal);
    },
    async remove(name, signal) {
      await settle();
      await table.remove(name, signal);
    },
    async close() {
      closed = true;
      wake.abort();
      await loop;
      await settle().catch((error: unknown) => {
        log.error(
          { err: error, files: pending.size },
          'rows of files stay in the write-ahead log until the next start',
        );
      });
    },
  };
}
