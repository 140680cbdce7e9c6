import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { healthRoutes } from '../../common/http/health-routes.ts';
import { fakeRequest } from '../services/fake-request.ts';

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
