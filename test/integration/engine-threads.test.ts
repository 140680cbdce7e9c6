import { readdir, readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';

interface Thread {
  readonly name: string;
  readonly niceness: number;
}

async function threads(): Promise<readonly Thread[]> {
  const folder = '/proc/self/task';
  const found = await Promise.all(
    (await readdir(folder)).map(async (id) => {
      const name = await readFile(`${folder}/${id}/comm`, 'utf8').catch(() => null);
      return name === null ? [] : [{ name: name.trim(), niceness: getPriority(Number(id)) }];
    }),
  );
  return found.flat();
}

t.test(
  'threads that compute for the engine have a lower priority than the event loop and those of Node',
  { skip: process.platform !== 'linux' && 'of Linux' },
  async (t) => {
    const before = getPriority();
    const db = openChdb({ path: `${t.testdir()}/chdb` });
    t.teardown(() => db.close());
    await db.command({ sql: 'CREATE DATABASE merged' });
    await db.command({ sql: 'CREATE TABLE merged.numbers (n UInt64) ENGINE = MergeTree ORDER BY n' });
    const sql = 'SELECT sum(cityHash64(number)) AS sum FROM numbers(1000000)';
    let lower: readonly string[] = [];
    let others: readonly Thread[] = [];
    for (let i = 0; i < 100 && !lower.includes('MergeMutate'); i++) {
      await db.rows({ sql, account: 'a' });
      await sleep(100);
      const all = await threads();
      lower = all.filter(({ niceness }) => niceness === before + 10).map(({ name }) => name);
      others = all.filter(({ name }) => /^(node|Main|V8|libuv)/.test(name));
    }
    t.ok(lower.includes('MergeMutate'), 'those that merge');
    t.ok(
      lower.some((name) => /^(Query|ThreadPool)/.test(name)),
      'those that read',
    );
    t.equal(getPriority(), before, 'the event loop');
    t.ok(others.length > 0);
    t.ok(
      others.every(({ niceness }) => niceness === before),
      "Node's own",
    );
  },
);
