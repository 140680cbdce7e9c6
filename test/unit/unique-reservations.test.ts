import t from 'tap';
import { createLocalReservations, type Reservation } from '../../query/write/unique-reservations.ts';

const idle = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function taken(result: { reservation: Reservation } | { takenKey: string }): Reservation {
  if ('takenKey' in result) throw new Error(`taken: ${result.takenKey}`);
  return result.reservation;
}

t.test('different keys do not meet', async (t) => {
  const reservations = createLocalReservations();
  const a = taken(await reservations.reserve(['a', 'b'], idle));
  const c = taken(await reservations.reserve(['c'], idle));
  await a.settle([]);
  await c.settle([]);
  t.ok('reservation' in (await reservations.reserve(['a', 'b', 'c'], idle)));
  t.ok('reservation' in (await reservations.reserve([], idle)));
});

t.test('a waiter hears that the key was stored', async (t) => {
  const reservations = createLocalReservations();
  const first = taken(await reservations.reserve(['a', 'b'], idle));
  let result: unknown = null;
  const second = reservations.reserve(['x', 'b'], idle).then((value) => {
    result = value;
  });
  await turn();
  t.equal(result, null, 'it waits');
  t.ok('reservation' in (await reservations.reserve(['x'], idle)), 'and holds nothing meanwhile');
  await first.settle(['a', 'b']);
  await second;
  t.strictSame(result, { takenKey: 'b' });
  taken(await reservations.reserve(['b'], idle));
});

t.test('a waiter takes over when nothing was stored, or only another key', async (t) => {
  const reservations = createLocalReservations();
  const first = taken(await reservations.reserve(['a', 'b'], idle));
  const second = reservations.reserve(['b'], idle);
  const third = reservations.reserve(['b'], idle);
  await first.settle(['a']);
  const winner = taken(await second);
  await winner.settle(['b']);
  t.strictSame(await third, { takenKey: 'b' });
});

t.test('of many at once exactly one stores, and crossing sets do not block each other', async (t) => {
  const reservations = createLocalReservations();
  let inside = 0;
  let stored = 0;
  let refused = 0;
  await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      // a signal for each, as requests have
      const { signal } = new AbortController();
      const result = await reservations.reserve(i % 2 === 0 ? ['a', 'b'] : ['b', 'a'], signal);
      if ('takenKey' in result) {
        refused++;
        return;
      }
      t.equal(++inside, 1, 'alone');
      await turn();
      inside--;
      // the first three fail to store
      const done = stored++ >= 3;
      await result.reservation.settle(done ? ['a', 'b'] : []);
    }),
  );
  t.equal(stored, 4);
  t.equal(refused, 196);
});

t.test('waiting ends with the request, or after a while with 503', async (t) => {
  const reservations = createLocalReservations({ waitLimit: 20 });
  // the deadline's own timer does not keep a process alive
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const holder = taken(await reservations.reserve(['a'], idle));
  const gone = new AbortController();
  const waiting = reservations.reserve(['a'], gone.signal);
  gone.abort(new Error('client gone'));
  await t.rejects(waiting, { message: 'client gone' });
  await t.rejects(reservations.reserve(['z'], gone.signal), { message: 'client gone' });
  await t.rejects(reservations.reserve(['a'], idle), { code: 'overloaded', status: 503 });
  await holder.settle([]);
  taken(await reservations.reserve(['a'], idle));
});

t.test('the number of reserved keys is bounded', async (t) => {
  const reservations = createLocalReservations({ keyLimit: 3 });
  const many = taken(await reservations.reserve(['a', 'b', 'c', 'd'], idle));
  await t.rejects(reservations.reserve(['e'], idle), { code: 'overloaded' });
  await many.settle([]);
  taken(await reservations.reserve(['a', 'b', 'c'], idle));
});
