import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { Database } from '../../common/clickhouse/database.ts';
import { createPatchFolder } from '../../query/records/patch-folder.ts';

function fakeDatabase(rows = 10) {
  const statements: string[] = [];
  let gate = Promise.resolve();
  let onStatement: () => void = () => {};
  const db = {
    rows: async () => [{ n: rows }],
    command: async (sql: string) => {
      statements.push(sql);
      onStatement();
      await gate;
    },
  } as unknown as Database;
  return {
    db,
    statements,
    next: () =>
      new Promise<void>((resolve) => {
        onStatement = resolve;
      }),
    hold: (until: Promise<void>) => {
      gate = until;
    },
  };
}

// timers of the folder don't keep the process alive
const alive = setInterval(() => {}, 1000);
t.teardown(() => clearInterval(alive));

t.test('many notes are one merge, and each table has its own', async (t) => {
  const fake = fakeDatabase();
  const folder = createPatchFolder({ db: fake.db, delay: 1, restShare: 0, largest: 100 });
  const first = fake.next();
  for (let i = 0; i < 5; i++) folder.note('a');
  await first;
  await sleep(20);
  t.strictSame(fake.statements, ['OPTIMIZE TABLE a FINAL']);
  const second = fake.next();
  folder.note('b');
  await second;
  t.strictSame(fake.statements, ['OPTIMIZE TABLE a FINAL', 'OPTIMIZE TABLE b FINAL']);
});

t.test('a note during a merge is one more merge', async (t) => {
  const fake = fakeDatabase();
  const folder = createPatchFolder({ db: fake.db, delay: 1, restShare: 0, largest: 100 });
  let open: () => void = () => {};
  fake.hold(
    new Promise((resolve) => {
      open = resolve;
    }),
  );
  const first = fake.next();
  folder.note('a');
  await first;
  folder.note('a');
  folder.note('a');
  const second = fake.next();
  open();
  await second;
  await sleep(20);
  t.equal(fake.statements.length, 2);
});

t.test('large tables are left alone, and a failure is no more than that', async (t) => {
  const large = fakeDatabase(1000);
  const folder = createPatchFolder({ db: large.db, delay: 1, restShare: 0, largest: 100 });
  folder.note('a');
  await sleep(30);
  t.strictSame(large.statements, []);
  const fake = fakeDatabase();
  const refusal = Promise.reject(new Error('no space'));
  refusal.catch(() => {});
  fake.hold(refusal);
  const failing = createPatchFolder({ db: fake.db, delay: 1, restShare: 0, largest: 100 });
  for (const expected of [1, 2]) {
    const next = fake.next();
    failing.note('a');
    await next;
    await sleep(20);
    t.equal(fake.statements.length, expected);
  }
});
