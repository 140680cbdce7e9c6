import t from 'tap';
import { StorageQuota } from '#gateway/access/storage-quota.ts';

const { signal } = new AbortController();
const refused = { status: 403, code: 'quota_exceeded' };

/** A store that knows a file as soon as it is asked again. */
function quotaOf(limits: { files?: number; bytes?: number }) {
  const state = { now: 0, files: 0, bytes: 0, asked: 0 };
  const quota = new StorageQuota({
    limits: { files: 0, bytes: 0, ...limits },
    now: () => state.now,
    async use() {
      state.asked++;
      return { files: state.files, bytes: state.bytes };
    },
  });
  return { quota, state };
}

t.test('an account stores so many files, and no more', async (t) => {
  const { quota, state } = quotaOf({ files: 3 });
  state.files = 1;
  (await quota.claim('a', 10, signal))(true);
  const failed = await quota.claim('a', 10, signal);
  await t.rejects(quota.claim('a', 10, signal), refused, 'also those that are under way count');
  failed(false);
  (await quota.claim('a', 10, signal))(true);
  await t.rejects(quota.check('a', 0, signal), refused);
  await quota.check('b', 0, signal);
  t.equal(state.asked, 2, 'the store is asked once an account');
});

t.test('bytes count', async (t) => {
  const { quota, state } = quotaOf({ bytes: 100 });
  state.bytes = 40;
  await quota.check('a', 60, signal);
  await t.rejects(quota.check('a', 61, signal), refused);
  (await quota.claim('a', 60, signal))(true);
  await t.rejects(quota.claim('a', 1, signal), refused);
});

t.test('what the store has seen counts once, and what is under way goes on counting', async (t) => {
  const { quota, state } = quotaOf({ files: 3 });
  (await quota.claim('a', 1, signal))(true);
  const underWay = await quota.claim('a', 1, signal);
  state.now = 20_000;
  state.files = 1;
  (await quota.claim('a', 1, signal))(true);
  await t.rejects(quota.check('a', 1, signal), refused);
  underWay(false);
  await quota.check('a', 1, signal);
  state.now = 40_000;
  state.files = 0;
  for (let i = 0; i < 3; i++) await quota.claim('a', 1, signal);
  await t.rejects(quota.check('a', 1, signal), refused, 'files that were removed make room');
});

t.test('a file that is deleted makes room at once', async (t) => {
  const { quota, state } = quotaOf({ files: 1 });
  state.now = 1;
  (await quota.claim('a', 1, signal))(true);
  await t.rejects(quota.check('a', 1, signal), refused);
  state.now = 2;
  quota.freed('a');
  state.now = 3;
  await quota.check('a', 1, signal);
  state.files = 1;
  state.now = 20_000;
  await t.rejects(quota.check('a', 1, signal), refused, 'what others stored meanwhile counts');
});

t.test('bytes of an upload count while they come, and once when the store has seen them', async (t) => {
  const { quota, state } = quotaOf({ bytes: 100 });
  const counted = await quota.claimBytes('a', 60, signal);
  await t.rejects(quota.check('a', 41, signal), refused);
  state.now = 1;
  counted(50, false);
  state.now = 20_000;
  state.bytes = 50;
  await t.rejects(quota.check('a', 41, signal), refused, 'ten bytes are still to come');
  await quota.check('a', 40, signal);
  counted(55, true);
  await quota.check('a', 45, signal);
  await t.rejects(quota.check('a', 46, signal), refused);
  state.now = 40_000;
  state.bytes = 55;
  await quota.check('a', 45, signal);
  await t.rejects(quota.check('a', 46, signal), refused);
});

t.test('bytes that nobody announced count as they come', async (t) => {
  const { quota } = quotaOf({ bytes: 100 });
  const counted = await quota.claimBytes('a', 0, signal);
  t.equal(counted(100, false), null);
  await t.rejects(quota.check('a', 1, signal), refused);
  t.match(counted(101, false), refused);
  t.match(counted(101, true), refused);
});
