/** Turns of clients' reads in the embedded engine, while the event loop is late. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ReadPlaces } from '#engine/read-places.ts';

const turnsOver = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => queueMicrotask(resolve)));

function reads(places: ReadPlaces) {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const begin = (n: number, account = `account ${n}`): Promise<void> =>
    places.run(
      () =>
        new Promise((resolve) => {
          begun.push(n);
          ends[n] = resolve;
        }),
      undefined,
      account,
    );
  return { begun, ends, begin };
}

t.test('fewer reads compute while the event loop is late, and long ones make way', async (t) => {
  const places = new ReadPlaces();
  t.teardown(() => places.close());
  const calm = reads(places);
  const first = [0, 1, 2, 3, 4].map((n) => calm.begin(n));
  await turnsOver();
  t.strictSame(calm.begun, [0, 1, 2, 3], 'before');
  for (const end of calm.ends) end();
  await turnsOver();
  calm.ends[4]?.();
  await Promise.all(first);

  const busy = setInterval(() => {
    for (const end = performance.now() + 40; performance.now() < end; );
  }, 1);
  t.teardown(() => clearInterval(busy));
  await sleep(1000);
  const late = reads(places);
  const second = [0, 1, 2, 3].map((n) => late.begin(n, n < 3 ? 'busy' : 'other'));
  await turnsOver();
  t.strictSame(late.begun, [0, 1], 'one account has both while no other one asks');
  late.ends[0]?.();
  await turnsOver();
  t.strictSame(late.begun, [0, 1, 3], 'the place of one that ended is for an account that has none');
  // nothing ends, and yet the last one begins
  while (late.begun.length < 4) await sleep(20);
  for (const end of late.ends) end();
  await Promise.all(second);
});
