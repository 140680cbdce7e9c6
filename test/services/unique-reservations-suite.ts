import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Reservation, UniqueReservations } from '#records/unique/unique-reservations.ts';

const idle = new AbortController().signal;
setMaxListeners(0, idle);

export function taken(result: { reservation: Reservation } | { takenKey: string }): Reservation {
  if ('takenKey' in result) throw new Error(`taken: ${result.takenKey}`);
  return result.reservation;
}

/** Long enough for a waiting request to look around several times. */
export const aMoment = (): Promise<void> => sleep(60);

/**
 * What every implementation of UniqueReservations promises.
 * @param open makes one with the given limits and nothing reserved
 */
export function uniqueReservationsSuite(
  t: Test,
  open: (limits?: { waitLimit?: number; keyLimit?: number }) => Promise<UniqueReservations>,
): void {
  t.test('different keys do not meet', async (t) => {
    const reservations = await open();
    const a = taken(await reservations.reserve(['a', 'b'], idle));
    const c = taken(await reservations.reserve(['c'], idle));
    await a.settle([]);
    await c.settle([]);
    t.ok('reservation' in (await reservations.reserve(['a', 'b', 'c'], idle)));
    t.ok('reservation' in (await reservations.reserve([], idle)));
  });

  t.test('what is reserved may be written', async (t) => {
    const reservations = await open();
    const held = taken(await reservations.reserve(['a'], idle));
    held.permit?.check();
    await held.settle([]);
    await held.settle(['a']);
    const again = taken(await reservations.reserve(['a'], idle));
    await held.settle([]);
    let result: unknown = null;
    const waiting = reservations.reserve(['a'], idle).then((value) => {
      result = value;
    });
    await aMoment();
    t.equal(result, null, 'settled once is settled: what another one has since is not given back');
    await again.settle([]);
    await waiting;
  });

  t.test('all or none: a waiter hears that the key was stored, and holds nothing meanwhile', async (t) => {
    const reservations = await open();
    const first = taken(await reservations.reserve(['a', 'b'], idle));
    let result: unknown = null;
    const second = reservations.reserve(['x', 'b'], idle).then((value) => {
      result = value;
    });
    await aMoment();
    t.equal(result, null, 'it waits');
    t.ok('reservation' in (await reservations.reserve(['x'], idle)), 'and holds nothing meanwhile');
    await first.settle(['a', 'b']);
    await second;
    t.strictSame(result, { takenKey: 'b' });
    taken(await reservations.reserve(['b'], idle));
  });

  t.test('a waiter takes over when nothing was stored, or only another key', async (t) => {
    const reservations = await open();
    const first = taken(await reservations.reserve(['a', 'b'], idle));
    const second = reservations.reserve(['b'], idle);
    await aMoment();
    await first.settle(['a']);
    const winner = taken(await second);
    const third = reservations.reserve(['b'], idle);
    await aMoment();
    await winner.settle(['b']);
    t.strictSame(await third, { takenKey: 'b' });
  });

  t.test('of many at once exactly one is inside, and crossing sets do not block each other', async (t) => {
    const reservations = await open();
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
        await new Promise((resolve) => setImmediate(resolve));
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
    const reservations = await open({ waitLimit: 50 });
    // the deadline's own timer does not keep a process alive
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(alive));
    const holder = taken(await reservations.reserve(['a'], idle));
    const gone = new AbortController();
    const waiting = reservations.reserve(['b', 'a'], gone.signal);
    const left = t.rejects(waiting, { message: 'client gone' });
    gone.abort(new Error('client gone'));
    await left;
    await t.rejects(reservations.reserve(['z'], gone.signal), { message: 'client gone' });
    await t.rejects(reservations.reserve(['b', 'a'], idle), { code: 'overloaded', status: 503 });
    taken(await reservations.reserve(['b', 'z'], idle));
    await holder.settle([]);
    taken(await reservations.reserve(['a'], idle));
  });

  t.test('the number of reserved keys is bounded', async (t) => {
    const reservations = await open({ keyLimit: 3 });
    const many = taken(await reservations.reserve(['a', 'b', 'c', 'd'], idle));
    await t.rejects(reservations.reserve(['e'], idle), { code: 'overloaded' });
    await many.settle([]);
    taken(await reservations.reserve(['a', 'b'], idle));
    taken(await reservations.reserve(['c'], idle));
    await t.rejects(reservations.reserve(['d'], idle), { code: 'overloaded' });
  });

  t.test('keys of any length and content', async (t) => {
    const reservations = await open();
    const keys = ['', ' ', ':', 'k:1', '\u0000', 'ß', 'ss', 'x'.repeat(100_000), `${'x'.repeat(100_000)}y`];
    const all = taken(await reservations.reserve(keys, idle));
    const gone = new AbortController();
    const waiting = keys.map((key) =>
      t.rejects(reservations.reserve([key], gone.signal), { message: 'client gone' }),
    );
    await aMoment();
    gone.abort(new Error('client gone'));
    await Promise.all(waiting);
    taken(await reservations.reserve(['\u0000\u0000', 'SS'], idle));
    await all.settle([]);
    for (const key of keys) taken(await reservations.reserve([key], idle));
  });
}
