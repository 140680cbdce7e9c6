import t from 'tap';
import { AccountQuota } from '#kernel/limits/account-quota.ts';

const { signal } = new AbortController();
const refused = { message: 'the limit is 3' };

/** A quota of three objects. The store answers when the test says so. */
function quotaOfThree() {
  const state = { now: 0 };
  const questions: ((objects: number) => void)[] = [];
  const quota = new AccountQuota({
    limits: { objects: 3 },
    ask: () => new Promise((resolve) => questions.push((objects) => resolve({ objects }))),
    full: (limit) => new Error(`the limit is ${limit}`),
    now: () => state.now,
  });
  const add = () => quota.add('a', signal);
  return { quota, state, questions, add };
}

t.test('calls that wait for an answer are admitted one by one', async (t) => {
  const { questions, add } = quotaOfThree();
  const calls = [add(), add(), add()];
  t.equal(questions.length, 3);
  for (const answer of questions) answer(1);
  const results = await Promise.allSettled(calls);
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});

t.test('calls of one moment do not share the last room', async (t) => {
  const { questions, add } = quotaOfThree();
  const first = add();
  questions[0]?.(1);
  await first;
  const results = await Promise.allSettled([add(), add()]);
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

t.test('an answer to an earlier question does not replace a later one', async (t) => {
  const { state, questions, add } = quotaOfThree();
  const early = add();
  state.now = 1;
  const late = add();
  questions[1]?.(3);
  await t.rejects(late, refused);
  questions[0]?.(0);
  await t.rejects(early, refused);
});

t.test('a known number of removed objects makes room without a question', async (t) => {
  const { quota, questions, add } = quotaOfThree();
  const first = add();
  questions[0]?.(2);
  await first;
  await t.rejects(add(), refused);
  quota.freed('a', 1);
  await add();
  await t.rejects(add(), refused);
  t.equal(questions.length, 1);
});

t.test('an account never has fewer than no objects', async (t) => {
  const { quota, questions, add } = quotaOfThree();
  const first = add();
  questions[0]?.(0);
  await first;
  quota.freed('a', 5);
  for (let i = 0; i < 3; i++) await add();
  await t.rejects(add(), refused);
});

t.test('an unknown number leads to a question when there is no room, and not before', async (t) => {
  const { quota, state, questions, add } = quotaOfThree();
  const first = add();
  questions[0]?.(1);
  await first;
  state.now = 1;
  quota.freed('a');
  await add();
  t.equal(questions.length, 1, 'there was room');
  state.now = 2;
  const full = add();
  t.equal(questions.length, 2);
  questions[1]?.(2);
  await full;
  await t.rejects(add(), refused);
  t.equal(questions.length, 2, 'this answer is newer than the removal');
});

t.test('what was made counts once when the store has been asked again', async (t) => {
  const { state, questions, add } = quotaOfThree();
  const first = add();
  questions[0]?.(0);
  await first;
  await add();
  state.now = 10_000;
  const third = add();
  questions[1]?.(2);
  await third;
  await t.rejects(add(), refused);
});

t.test('a failed question fails the call, and the next one asks again', async (t) => {
  let fails = true;
  const quota = new AccountQuota({
    limits: {},
    async ask() {
      if (fails) throw new Error('the store is away');
      return {};
    },
    full: () => new Error('full'),
  });
  await t.rejects(quota.add('a', signal), { message: 'the store is away' });
  fails = false;
  await quota.add('a', signal);
});
