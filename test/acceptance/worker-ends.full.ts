/** How workers end, and what becomes of those that can't start. */
import t from 'tap';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runToEnd } from '../services/start-sluice.ts';
import { find, startWorkers, untilBothAnswer } from '../services/start-workers.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { isAlive, until, workerPids } from '../services/worker-pids.ts';

const chdb = await startClickhouse();
t.teardown(() => chdb.close());

t.test('SIGTERM to the supervisor drains all workers and exits 0', async (t) => {
  const sluice = await startWorkers(t, chdb.url, { DRAIN_DELAY_MS: '4000' });
  await untilBothAnswer(sluice);
  const pids = [...workerPids(sluice).values()];
  sluice.process.kill('SIGTERM');
  let refusal: unknown;
  await until(async () => {
    const response = await fetch(`${sluice.baseUrl}/readyz`);
    refusal = await response.json();
    return response.status === 503;
  });
  t.match(refusal, { code: 'shutting_down' });
  t.equal((await find(sluice)).status, 200, 'requests are still served');
  t.equal(await sluice.ended(), 0);
  t.notOk(pids.some(isAlive));
});

t.test('the death of the supervisor ends the workers in order', async (t) => {
  const sluice = await startWorkers(t, chdb.url);
  await untilBothAnswer(sluice);
  const pids = [...workerPids(sluice).values()];
  sluice.process.kill('SIGKILL');
  await sluice.ended();
  await until(() => !pids.some(isAlive));
  // what they wrote may be read a little later than they are gone
  const told = () => sluice.stderr().match(/"the supervisor is gone","msg":"stopping/g)?.length ?? 0;
  await until(() => told() > 1);
  t.equal(told(), 2);
});

t.test('a worker that can not start beside one that serves is tried on', async (t) => {
  let own = await startClickhouse();
  t.teardown(() => own.close());
  const sluice = await startWorkers(t, own.url);
  await untilBothAnswer(sluice);
  const before = workerPids(sluice);
  await own.kill();
  process.kill(before.get(2) as number, 'SIGKILL');
  const failures = () => sluice.stderr().match(/"end":"exit status 1".*"a worker ended/g)?.length ?? 0;
  await until(() => failures() > 1);
  const health = await fetch(`${sluice.baseUrl}/healthz`, { headers: { connection: 'close' } });
  t.equal(health.status, 200, 'the other one serves');
  own = await own.restart();
  await until(() => workerPids(sluice).get(2) !== before.get(2));
  await untilBothAnswer(sluice);
});

t.test('a first worker that can not start ends the whole at once', async (t) => {
  const dataDir = await temporaryFolder(t);
  const env = { WORKERS: '2', PORT: '0', DATA_DIR: dataDir };
  const nowhere = await runToEnd('main.ts', [], { ...env, CLICKHOUSE_URL: 'http://127.0.0.1:1' });
  t.equal(nowhere.status, 1);
  t.match(nowhere.stderr, /^sluice: the ClickHouse server at http:\/\/127.0.0.1:1 can't be used/m);
  const last = nowhere.stderr.trimEnd().split('\n').at(-1);
  t.equal(last, 'sluice: worker 1 ended before it served (exit status 1), and no other one serves');
  t.equal(nowhere.stdout, '');
  const embedded = await runToEnd('main.ts', [], env);
  t.strictSame(
    [embedded.status, embedded.stderr],
    [1, 'sluice: WORKERS is 2, but CLICKHOUSE_URL is not set: the embedded engine serves one process only\n'],
  );
});
