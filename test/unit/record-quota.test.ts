import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { RecordQuota } from '#records/record-quota.ts';
import { silentLog } from '../services/silent-log.ts';

const refused = { status: 403, code: 'quota_exceeded' };

/** A store that knows what `state` says. */
function quotaOf(limit: number) {
  const state = { now: 0, bytes: 0, asked: 0, away: false };
  const quota = new RecordQuota({
    limit,
    log: silentLog(),
    now: () => state.now,
    async count() {
      state.asked++;
      if (state.away) throw new Error('the store is away');
      return state.bytes;
    },
  });
  const write = (bytes: number, owner = 'a') => quota.write(owner, bytes, async () => bytes);
  return { quota, state, write };
}

t.test('what is stored and what is written here count', async (t) => {
  const { state, write } = quotaOf(100);
  state.bytes = 40;
  t.equal(await write(50), 50);
  await t.rejects(write(11), refused);
  t.equal(await write(10), 10, 'what fits is let in');
  await t.rejects(write(70, 'b'), refused, 'each account is asked about');
  t.equal(await write(60, 'b'), 60);
});

t.test('what is under way counts, and what failed does not', async (t) => {
  const { quota, write } = quotaOf(100);
  let fail: (error: Error) => void = () => {};
  const underWay = quota.write('a', 60, () => new Promise((_, reject) => (fail = reject)));
  await sleep(1);
  await t.rejects(write(41), refused);
  fail(new Error('broken'));
  await t.rejects(underWay, { message: 'broken' });
  t.equal(await write(100), 100);
});

t.test('records that were deleted make room, and the store is asked seldom', async (t) => {
  const { state, write } = quotaOf(100);
  await write(100);
  state.bytes = 100;
  for (let i = 0; i < 10; i++) await t.rejects(write(1), refused);
  t.equal(state.asked, 1);
  state.bytes = 10;
  state.now = 3000;
  t.equal(await write(90), 90);
  state.bytes = 100;
  await t.rejects(write(1), refused);
  t.equal(state.asked, 2);
});

t.test('what other processes wrote is seen within a minute', async (t) => {
  const { state, write } = quotaOf(100);
  await write(1);
  state.bytes = 100;
  await write(1);
  state.now = 60_000;
  // this one is let in by what was known, while the store is asked
  await write(1);
  await t.rejects(write(1), refused);
});

t.test('what is written while the store counts is counted as well', async (t) => {
  let now = 0;
  let answer: (bytes: number) => void = () => {};
  const count = (): Promise<number> =>
    now === 0 ? Promise.resolve(0) : new Promise((resolve) => (answer = resolve));
  const quota = new RecordQuota({ limit: 100, count, log: silentLog(), now: () => now });
  const write = (bytes: number): Promise<void> => quota.write('a', bytes, async () => {});
  await write(10);
  now = 60_000;
  await write(50);
  answer(10);
  await sleep(1);
  await t.rejects(write(41), refused);
  await write(40);
});

t.test('a store that does not answer stops no write', async (t) => {
  const { state, write } = quotaOf(100);
  state.away = true;
  t.equal(await write(60), 60);
  await t.rejects(write(60), refused, 'what was written here is known');
});
