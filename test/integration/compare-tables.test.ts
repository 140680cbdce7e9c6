/** Checksums of exported records: days that the engine does not know by itself are compared as well. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import type { TableSums } from '../../cli/transfer/compare-tables.ts';
import { programArgs } from '../services/built.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const { db, folder } = await openMigratedChdb(t);

/** A file as an export has it. @param days since 1970; null: a record without one */
async function fileOf(name: string, days: readonly (number | null)[]): Promise<string> {
  const path = join(folder, name);
  const list = days.map((day) => (day === null ? 'NULL' : `toInt64(${day})`)).join(', ');
  await db.command({
    sql: `INSERT INTO FUNCTION file('${path}', Parquet)
      SELECT addDays(toDate32('1970-01-01'), day) AS day, 'a' AS text FROM (SELECT arrayJoin([${list}]) AS day)`,
  });
  return path;
}

async function sumsOf(...paths: readonly string[]): Promise<readonly TableSums[]> {
  const child = spawn(process.execPath, [...programArgs('cli/transfer/compare-tables.ts'), ...paths], {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const sums: TableSums[] = [];
  let stderr = '';
  child.on('message', (message) => sums.push(message as TableSums));
  child.stderr?.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(stderr);
  return sums;
}

t.test(
  'days of the years 0001 and 9999 differ from the first and the last that the engine knows',
  async (t) => {
    const [first, last] = [-719_162, 2_932_896];
    const [one, same, early, late, none] = await sumsOf(
      await fileOf('one.parquet', [first, 0, last, null]),
      await fileOf('same.parquet', [null, last, first, 0]),
      await fileOf('early.parquet', [-25_567, 0, last, null]),
      await fileOf('late.parquet', [first, 0, 120_530, null]),
      await fileOf('none.parquet', [first, null, last, null]),
    );
    t.match(one, { columns: 'day Nullable(Date32), text String', rows: '4' });
    t.strictSame(same, one);
    for (const other of [early, late, none]) t.not(other?.sum, one?.sum);
  },
);
