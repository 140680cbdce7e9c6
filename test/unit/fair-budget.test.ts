import t from 'tap';
import { FairBudget } from '../../common/http/fair-budget.ts';

const budget = () => new FairBudget({ total: 100, share: 40, queueLimit: 3, what: 'room' });

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
