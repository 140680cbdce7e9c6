import t from 'tap';
import { Semaphore } from '../../common/limits/semaphore.ts';

const patient = new AbortController().signal;

t.test('as many as there are turns go at once, the others in the order in which they came', async (t) => {
  const turns = new Semaphore({ limit: 2, queueLimit: 10, full: 'too many' });
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

t.test('too many that wait are a 503', async (t) => {
  const turns = new Semaphore({ limit: 1, queueLimit: 1, full: 'too many' });
  const release = await turns.take(patient);
  const second = turns.take(patient);
  await t.rejects(turns.take(patient), { status: 503, code: 'overloaded' });
  release();
  (await second)();
});

t.test('who stops waiting leaves the line', async (t) => {
  const turns = new Semaphore({ limit: 1, queueLimit: 2, full: 'too many' });
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
  const turns = new Semaphore({ limit: 4, accountLimit: 2, queueLimit: 10, full: 'too many' });
  const taken = ['a', 'a', 'b', 'b'].map((account) => turns.tryTake(account));
  t.strictSame(
    taken.map((release) => release !== null),
    [true, true, true, false],
  );
  const waiting = turns.take(patient, 'b');
  const last = turns.tryTake('c');
  t.ok(last, 'however many two accounts ask for');
  last?.();
  t.equal(turns.waiters, 1, 'and it stays for the next');
  taken[0]?.();
  (await waiting)();
});
