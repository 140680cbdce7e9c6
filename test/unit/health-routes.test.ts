import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { healthRoutes, type ReadinessCheck } from '#process/process-routes/health-routes.ts';
import { fakeRequest } from '../services/fake-request.ts';

function readyz(checks: readonly ReadinessCheck[]) {
  const route = healthRoutes(checks, () => null).find(({ path }) => path === '/readyz');
  return async () => route?.handler(fakeRequest({ method: 'GET' }));
}

t.test('stores are looked at once, however many ask', async (t) => {
  let looks = 0;
  const check = async (): Promise<void> => {
    looks++;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const ask = readyz([{ name: 'the database', check }]);
  const answers = await Promise.all(Array.from({ length: 1000 }, ask));
  t.ok(answers.every((answer) => answer?.status === 200));
  t.match(await ask(), { status: 200 });
  t.equal(looks, 1);
});

t.test('who asks later than a second hears of what is the case then', async (t) => {
  let away = true;
  const check = async (): Promise<void> => {
    if (away) throw new Error('away');
  };
  const ask = readyz([
    { name: 'the database', check },
    { name: 'the object store', check: async () => {} },
  ]);
  await t.rejects(ask(), { status: 503, message: /the database does not answer/ });
  away = false;
  await t.rejects(ask(), { message: /the database does not answer/ });
  await new Promise((resolve) => setTimeout(resolve, 1100));
  t.match(await ask(), { status: 200 });
});

t.test('a store whose disk is full says so', async (t) => {
  const check = async (): Promise<void> => {
    throw Object.assign(new Error('write'), { code: 'ENOSPC' });
  };
  await t.rejects(readyz([{ name: 'the object store', check }])(), {
    status: 503,
    message: 'the object store has no room: its disk is full',
  });
});

t.test(
  'a store that does not hear the signal does not hold the answer up',
  { timeout: 20_000 },
  async (t) => {
    // the deadline's timer alone keeps no process alive
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(alive));
    const ask = readyz([{ name: 'the object store', check: () => new Promise(() => {}) }]);
    await t.rejects(ask(), { status: 503, message: /the object store does not answer/ });
  },
);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

t.test('a store that hangs makes /readyz 503, also when the garbage is collected meanwhile', async (t) => {
  const waits = [
    // ends with the signal, and holds nothing of it but a listener
    (signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended')))),
    // does not hear it
    () => new Promise<void>(() => {}),
  ];
  for (const check of waits) {
    const ready = healthRoutes([{ name: 'the store', check }], () => null).find(
      ({ path }) => path === '/readyz',
    );
    const collecting = setInterval(collectGarbage, 100);
    t.teardown(() => clearInterval(collecting));
    await t.rejects(async () => ready?.handler(fakeRequest()), { code: 'not_ready' });
    clearInterval(collecting);
  }
});
