import t from 'tap';
import { createHasher } from '#auth/hasher.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';

const idle = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('hashes are argon2id by the OWASP parameters, salted, in order', async (t) => {
  const hasher = createHasher();
  const values = ['p1', 'p2', '', 'p1', 12.5, true];
  const hashes = await hasher.hashValues(values, idle);
  t.equal(hashes.length, values.length);
  for (const [i, hash] of hashes.entries()) {
    t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    t.equal(await hasher.verifyValue(hash, values[i] as string, idle), true);
    t.equal(await hasher.verifyValue(hash, 'other', idle), false);
  }
  t.not(hashes[0], hashes[3]);
  t.strictSame(await hasher.hashValues([], idle), []);
});

t.test('a request that is gone is not hashed for', async (t) => {
  const gone = AbortSignal.abort(new Error('client gone'));
  await t.rejects(createHasher().hashValues(['a', 'b'], gone), { message: 'client gone' });
});

t.test('a fair share runs few at once, in turn, and bounds who waits', async (t) => {
  const share = new FairShare({ capacity: 2, queueLimit: 3, full: 'too many' });
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const work = (id: number) => () => {
    begun.push(id);
    return new Promise<number>((resolve) => ends.push(() => resolve(id)));
  };
  const gone = new AbortController();
  const runs = [1, 2, 3].map((id) => share.run(work(id), idle));
  const aborted = share.run(work(4), gone.signal);
  runs.push(share.run(work(5), idle));
  await t.rejects(share.run(work(6), idle), { code: 'overloaded' });
  t.strictSame(begun, [1, 2]);
  gone.abort(new Error('client gone'));
  await t.rejects(aborted, { message: 'client gone' });
  ends[0]?.();
  await turn();
  t.strictSame(begun, [1, 2, 3]);
  ends[1]?.();
  ends[2]?.();
  await turn();
  t.strictSame(begun, [1, 2, 3, 5]);
  ends[3]?.();
  t.strictSame(await Promise.all(runs), [1, 2, 3, 5]);
  await t.rejects(
    share.run(async () => {
      throw new Error('work failed');
    }, idle),
    { message: 'work failed' },
  );
  t.equal(await share.run(async () => 7, idle), 7, 'its place is free again');
});
