import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FlushedLog } from '#kernel/durable-files/flushed-log.ts';
import type { LogEntry } from '#kernel/durable-files/write-ahead-log.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const lineOf = (text: string): LogEntry => ({ line: Buffer.from(`${text}\n`) });
const textOf = ({ line }: LogEntry): string => Buffer.from(line).toString().trimEnd();

/** A log in front of a table that takes rows when it is let, and what came into that table. Nothing is flushed by itself. */
async function openLog(t: Test) {
  const directory = await temporaryFolder(t);
  const table: string[] = [];
  const log = silentLog();
  let hold: Promise<void> = Promise.resolve();
  const flushed = await FlushedLog.open<LogEntry>({
    what: 'records',
    directory,
    log,
    entryOf: (line) => ({ line }),
    stored: () => {},
    async store(entries) {
      await hold;
      table.push(...entries.map(textOf));
    },
    times: { flushAfter: 3_600_000, retryAfter: 3_600_000 },
  });
  return {
    directory,
    table,
    log,
    flushed,
    async append(text: string) {
      await flushed.append(lineOf(text));
      return flushed.number();
    },
    /** The table takes nothing until the answer is called. */
    holdTable(): () => void {
      let release: () => void = () => {};
      hold = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

t.test('a flush does not join an older one that began before its entry came', async (t) => {
  const { append, table, flushed, holdTable } = await openLog(t);
  const release = holdTable();
  const older = flushed.flush(await append('first'));
  // it has begun: its segment is closed
  await new Promise((resolve) => setImmediate(resolve));
  const later = flushed.flush(await append('second'));
  release();
  await older;
  await later;
  t.strictSame(table, ['first', 'second']);
  t.ok(flushed.has(2));
});

t.test('a file of the log that disappears is told of once, and jams nothing', async (t) => {
  const { append, table, flushed, directory, log } = await openLog(t);
  const first = await append('first');
  for (const name of await readdir(directory)) await rm(join(directory, name));
  await flushed.flush(first);
  await flushed.flush(await append('second'));
  t.strictSame(table, ['first', 'second'], 'what was acknowledged is in the table, once');
  t.equal(log.failures.length, 1);
  t.match(log.failures[0], /records was removed while it was in use: the table has its rows/);
  t.strictSame(await readdir(directory), []);
});
