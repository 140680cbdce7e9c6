import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';

const folder = t.testdir();
const patient = new AbortController().signal;
/** A statement that would take minutes. */
const endless = 'SELECT sum(cityHash64(number, toString(number))) AS s FROM numbers(60000000000)';
const long = `SELECT number, repeat('x', 1000) FROM numbers(2000000)`;
const limits = { timeout: 2000, minRate: 16_384, minRatePeriod: 1000 };
const db: Database = openChdb({ path: `${folder}/chdb`, reads: limits });
t.teardown(() => db.close());

async function openReader(account: string): Promise<AsyncIterator<Uint8Array>> {
  const chunks = await db.stream({ sql: long, format: 'TSVRaw', account });
  return chunks[Symbol.asyncIterator]();
}

async function readAll(reader: AsyncIterator<Uint8Array>): Promise<number> {
  let bytes = 0;
  for (;;) {
    const next = await reader.next();
    if (next.done === true) return bytes;
    bytes += next.value.byteLength;
  }
}

t.test('the service is answered while readers of many accounts keep the engine busy', async (t) => {
  const controller = new AbortController();
  const reads = Array.from({ length: 16 }, (_, i) =>
    db.rows({ sql: endless, account: `reader ${i}`, signal: controller.signal }).catch(() => 'ended'),
  );
  await sleep(50);
  t.strictSame(await db.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
  await db.command({ sql: 'CREATE DATABASE IF NOT EXISTS shares' });
  controller.abort(new Error('gone'));
  t.strictSame(new Set(await Promise.all(reads)), new Set(['ended']));
});

t.test('what a client no longer waits for is ended in the engine', async (t) => {
  const controller = new AbortController();
  const read = db.rows({ sql: endless, account: 'a', signal: controller.signal });
  await sleep(100);
  controller.abort(new Error('gone'));
  await t.rejects(read, { message: 'gone' });
  await untilNothingRuns();
  t.strictSame(await db.rows({ sql: 'SELECT 2 AS two', account: 'a' }), [{ two: 2 }]);
});

t.test('a read that takes too long is ended with 503', async (t) => {
  await t.rejects(db.rows({ sql: endless, account: 'a' }), { status: 503, code: 'deadline_exceeded' });
  await t.rejects(db.stream({ sql: endless, format: 'TSVRaw', account: 'a' }), {
    status: 503,
    code: 'deadline_exceeded',
  });
  await untilNothingRuns();
});

t.test('one account that holds its statements lets others read', async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const flood = Array.from({ length: 40 }, () =>
    db.rows({ sql: endless, account: 'flood', signal }).catch(() => null),
  );
  await sleep(50);
  t.strictSame(await db.rows({ sql: 'SELECT 3 AS three', account: 'other' }), [{ three: 3 }]);
  controller.abort(new Error('gone'));
  await Promise.all(flood);
  await untilNothingRuns();
});

t.test('two accounts that take all they can leave a session to a third one', async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  let over = 0;
  const flood = Array.from({ length: 20 }, (_, i) =>
    db.rows({ sql: endless, account: `flood ${i % 2}`, signal }).catch(() => over++),
  );
  await sleep(50);
  t.strictSame(await db.rows({ sql: 'SELECT 3 AS three', account: 'other' }), [{ three: 3 }]);
  t.equal(over, 0, 'while all of theirs are under way');
  controller.abort(new Error('gone'));
  await Promise.all(flood);
  await untilNothingRuns();
});

t.test('readers that stall take a share of the streams, and lose it to those who wait', async (t) => {
  // sixteen of one account: half of them begin, the others wait
  const stalled = Array.from({ length: 16 }, () => openReader('stalled'));
  stalled.forEach((reader) => {
    reader.catch(() => {});
  });
  const first = await Promise.all(stalled.slice(0, 8));
  for (const reader of first) await reader.next();
  t.ok((await readAll(await openReader('other'))) > 1e9, 'another account reads beside them');
  // the second half is let in because the first was cut
  for (const reader of await Promise.all(stalled.slice(8))) await reader.return?.();
  await t.rejects(readAll(first[0] as AsyncIterator<Uint8Array>), { status: 503, code: 'overloaded' });
  for (const reader of first) await reader.return?.();
});

t.test('a reader that is as fast as it should be is not cut', async (t) => {
  const held = await Promise.all(Array.from({ length: 8 }, () => openReader('a')));
  const waiting = openReader('a');
  const fast = held[0] as AsyncIterator<Uint8Array>;
  for (const reader of held.slice(1)) await reader.next();
  const [bytes] = await Promise.all([readAll(fast), waiting.then((reader) => reader.return?.())]);
  t.ok(bytes > 1e9);
  for (const reader of held) await reader.return?.();
});

t.test('a statement that the engine refuses at once costs no session', async (t) => {
  for (let i = 0; i < 40; i++) {
    await t.rejects(db.stream({ sql: 'SELECT nothing FROM nowhere', format: 'TSVRaw', account: 'a' }));
  }
  await t.rejects(db.stream({ sql: '', format: 'TSVRaw', account: 'a' }));
  t.ok((await readAll(await openReader('a'))) > 1e9);
});

async function untilNothingRuns(): Promise<void> {
  const sql = `SELECT count() AS n FROM system.processes WHERE query NOT LIKE '%system.processes%'`;
  for (;;) {
    const [row] = await db.rows<{ n: number | string }>({ sql, signal: patient });
    if (Number(row?.n) === 0) return;
    await sleep(20);
  }
}
