import t from 'tap';
import { FairShare } from '#kernel/limits/fair-share.ts';

const patient = new AbortController().signal;

t.test('as many as there are turns go at once, the others in the order in which they came', async (t) => {
  const turns = new FairShare({ capacity: 2, queueLimit: 10, full: 'too many' });
  const order: number[] = [];
  const take = async (n: number): Promise<() => void> => {
    const release = await turns.take(patient);
    order.push(n);
    return release;
  };
  const [one, two] = [await take(1), await take(2)];
  const waiting = [take(3), take(4)];
  await Promise.resolve();
  t.strictSame(order, [1, 2]);
  one();
  one();
  const three = await (waiting[0] as Promise<() => void>);
  t.strictSame(order, [1, 2, 3], 'a turn that is given back twice is one turn');
  two();
  const four = await (waiting[1] as Promise<() => void>);
  three();
  four();
  const again = await Promise.all([take(5), take(6)]);
  for (const release of again) release();
  t.strictSame(order, [1, 2, 3, 4, 5, 6]);
});

t.test('the capacity may change meanwhile', async (t) => {
  const turns = new FairShare({ capacity: 2, queueLimit: 10, full: 'too many' });
  const [one, two] = ['a', 'b'].map((account) => turns.claim(account, 1));
  const [three, four] = ['c', 'd'].map((account) => turns.claim(account, 1));
  turns.resize({ capacity: 1, reserve: 0 });
  one?.release();
  t.notOk(three?.granted, 'what is held stays held');
  two?.release();
  t.strictSame([three?.granted, four?.granted], [true, false]);
  turns.resize({ capacity: 2, reserve: 0 });
  t.ok(four?.granted);
});

t.test('too many that wait are a 503', async (t) => {
  const turns = new FairShare({ capacity: 1, queueLimit: 1, full: 'too many' });
  const release = await turns.take(patient);
  const second = turns.take(patient);
  await t.rejects(turns.take(patient), { status: 503, code: 'overloaded' });
  release();
  (await second)();
});

t.test('who stops waiting leaves the line', async (t) => {
  const turns = new FairShare({ capacity: 1, queueLimit: 2, full: 'too many' });
  const release = await turns.take(patient);
  const controller = new AbortController();
  const left = turns.take(controller.signal);
  const stays = turns.take(patient);
  const reason = new Error('gone');
  controller.abort(reason);
  await t.rejects(left, reason);
  await t.rejects(turns.take(controller.signal), reason, 'or does not join it');
  release();
  (await stays)();
  (await turns.take(patient))();
});

t.test('the last place is for an account that holds none', async (t) => {
  const turns = new FairShare({ capacity: 4, share: 2, reserve: 1, queueLimit: 10, full: 'too many' });
  const taken = ['a', 'a', 'b', 'b'].map((account) => turns.tryClaim(account, 1));
  t.strictSame(
    taken.map((claim) => claim !== null),
    [true, true, true, false],
  );
  const waiting = turns.take(patient, 'b');
  const last = turns.tryClaim('c', 1);
  t.ok(last, 'however many two accounts ask for');
  last?.release();
  t.equal(turns.waiters, 1, 'and it stays for the next');
  taken[0]?.release();
  (await waiting)();
});

const budget = () =>
  new FairShare({ capacity: 100, share: 40, queueLimit: 100, accountQueueLimit: 3, full: 'no room' });

t.test('an account holds its share and no more; others find theirs', async (t) => {
  const room = budget();
  t.ok(room.claim('a', 30).granted);
  t.notOk(room.claim('a', 20).granted);
  t.equal(room.tryClaim('a', 5), null, 'nobody overtakes a claim of the same account');
  t.ok(room.claim('b', 40).granted);
  t.ok(room.claim('c', 30).granted);
  t.equal(room.used, 100);
});

t.test('what is given back goes to who waits longest', async (t) => {
  const room = budget();
  const order: string[] = [];
  const first = room.claim('a', 40);
  room.claim('b', 40);
  room.claim('c', 30, () => order.push('c'));
  room.claim('a', 10, () => order.push('a'));
  t.notOk(room.claim('d', 5, () => order.push('d')).granted, 'small claims do not overtake a large one');
  first.release();
  first.release();
  t.strictSame(order, ['c', 'a', 'd']);
  t.equal(room.used, 85);
});

t.test('who waits no more is no obstacle', async (t) => {
  const room = budget();
  room.claim('a', 40);
  room.claim('b', 40);
  const large = room.claim('c', 30);
  let granted = false;
  room.claim('d', 20, () => {
    granted = true;
  });
  large.release();
  t.ok(granted);
  t.equal(room.used, 100);
});

t.test('an account has so many claims waiting, then it gets 503', async (t) => {
  const room = budget();
  room.claim('a', 40);
  for (let i = 0; i < 3; i++) room.claim('a', 10);
  t.throws(() => room.claim('a', 10), { status: 503, code: 'overloaded' });
  t.ok(room.claim('b', 10).granted);
});

t.test('a claim that is larger than a share, or than all, is let in alone', async (t) => {
  const room = budget();
  const large = room.claim('a', 50);
  t.ok(large.granted);
  t.notOk(room.claim('a', 1).granted);
  const larger = room.claim('b', 120);
  t.notOk(larger.granted);
  larger.release();
  large.release();
  t.equal(room.used, 1);
});

t.test('it knows for whose sake an account could be cut', async (t) => {
  const room = budget();
  room.claim('a', 40);
  t.notOk(room.wantedFrom('a'));
  const own = room.claim('a', 10);
  t.ok(room.wantedFrom('a'), 'another claim of its own');
  t.notOk(room.wantedFrom('b'));
  own.release();
  room.claim('b', 40);
  room.claim('c', 30);
  t.ok(room.wantedFrom('a'), 'a claim for which there is no room at all');
});

t.test('what is claimed at once or not at all is held, also while others wait', async (t) => {
  const room = budget();
  room.claim('a', 40);
  room.claim('b', 40);
  const large = room.claim('c', 30);
  t.equal(room.tryClaim('d', 5), null, 'it was given what nobody counted');
  t.equal(room.used, 80);
  large.release();
  t.ok(room.tryClaim('d', 5)?.granted);
  t.equal(room.used, 85);
});

t.test('the account that holds least comes first, and those that hold the same take turns', async (t) => {
  const turns = new FairShare({ capacity: 2, queueLimit: 10, full: 'too many' });
  const releases = [await turns.take(patient, 'many'), await turns.take(patient, 'many')];
  const order: string[] = [];
  for (const name of ['many 1', 'one 1', 'one 2', 'other 1']) {
    const account = name.split(' ')[0] as string;
    void turns.take(patient, account).then((release) => {
      order.push(name);
      releases.push(release);
    });
  }
  while (releases.length > 0) {
    releases.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.strictSame(order, ['one 1', 'many 1', 'other 1', 'one 2']);
});

t.test('who has waited for too long gets 503, and leaves the line', async (t) => {
  const turns = new FairShare({ capacity: 1, queueLimit: 2, waitLimit: 5, full: 'too many' });
  const release = await turns.take(patient);
  await t.rejects(turns.take(patient), { status: 503, code: 'overloaded', message: 'too many' });
  t.equal(turns.waiters, 0);
  release();
  (await turns.take(patient))();
});
