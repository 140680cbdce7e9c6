/** Several workers on one port, as processes over one ClickHouse server. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { lastingPort } from '../services/lasting-port.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runToEnd } from '../services/start-sluice.ts';
import { answering, find, startWorkers, untilBothAnswer } from '../services/start-workers.ts';
import { isAlive, until, workerPids } from '../services/worker-pids.ts';

const chdb = await startClickhouse();
t.teardown(() => chdb.close());

t.test('two workers serve one port, and what is done once is done once', async (t) => {
  const sluice = await startWorkers(t, chdb.url);
  await untilBothAnswer(sluice);
  t.equal(sluice.stdout().match(/^Sluice listens on /gm)?.length, 1);
  t.equal(sluice.stdout().match(/^Access token: /gm)?.length, 1);
  const migrations = sluice.stderr().match(/"version":\d+,"name":"[^"]+","msg":"migrated"/g) ?? [];
  t.ok(migrations.length > 0);
  t.equal(new Set(migrations).size, migrations.length, 'each migration ran once');
  const port = new URL(sluice.baseUrl).port;
  const janitors = () => sluice.stderr().match(/"the janitor is done"/g)?.length ?? 0;
  await until(() => janitors() > 0);
  t.not(port, '0');

  const other = { DATA_DIR: join(sluice.dataDir, 'other'), PORT: port };
  const alone = await runToEnd('main.ts', [], other);
  t.strictSame([alone.status, alone.stdout], [1, ''], 'nobody else gets the port');
  t.match(alone.stderr, new RegExp(`127.0.0.1:${port} can't be listened on`));
  const served = { CLICKHOUSE_URL: chdb.url, WORKERS: '2', ...other };
  const supervised = await runToEnd('main.ts', [], served);
  t.strictSame([supervised.status, supervised.stdout], [1, ''], 'nor do workers of another supervisor');
  t.match(supervised.stderr, new RegExp(`^sluice: 127.0.0.1:${port} can't be listened on`, 'm'));
  t.equal(janitors(), 1, 'one janitor is enough');
});

t.test('once it is ready, every connection is with a worker', async (t) => {
  const port = String(await lastingPort());
  const baseUrl = `http://127.0.0.1:${port}`;
  const headers = { connection: 'close' };
  const ask = async (path: string): Promise<number> =>
    (await fetch(baseUrl + path, { headers }).catch(() => ({ status: 0 }))).status;
  for (let i = 0; i < 2; i++) {
    const starting = startWorkers(t, chdb.url, { PORT: port });
    while ((await ask('/readyz')) !== 200);
    const statuses = await Promise.all(Array.from({ length: 50 }, () => ask('/healthz')));
    t.strictSame([...new Set(statuses)], [200], 'a load balancer that saw it ready sends requests');
    t.equal(await (await starting).stop(), 0);
  }
});

t.test('the operator has commands, and a revoked token is refused by all within a second', async (t) => {
  const sluice = await startWorkers(t, chdb.url);
  const env = { DATA_DIR: sluice.dataDir };
  const made = await runToEnd('cli/token.ts', [], env);
  t.equal(made.status, 0, made.stderr);
  const token = made.stdout.trim();
  const after = sluice.stderr().length;
  await until(async () => {
    t.equal((await find(sluice, token)).status, 200);
    return answering(sluice, after).size === 2;
  });
  t.match(await runToEnd('cli/token.ts', ['--revoke', token], env), { status: 0 });
  await sleep(1000);
  for (let i = 0; i < 30; i++) t.equal((await find(sluice, token)).status, 401);
  t.match(await runToEnd('cli/token.ts', ['--revoke', 'none'], env), {
    status: 1,
    stderr: /^sluice: there is no such access token\n$/,
  });
  const janitor = await runToEnd('cli/janitor.ts', ['--dry-run'], env);
  t.equal(janitor.status, 0, janitor.stderr);
  t.match(JSON.parse(janitor.stdout), { dryRun: true, failures: 0 });
});

t.test('a worker that is killed is started again, and the other goes on meanwhile', async (t) => {
  const sluice = await startWorkers(t, chdb.url);
  await untilBothAnswer(sluice);
  const before = workerPids(sluice);
  for (const worker of [1, 2]) {
    process.kill(before.get(worker) as number, 'SIGKILL');
    await until(() => !isAlive(before.get(worker) as number));
    for (let i = 0; i < 10; i++) t.equal((await find(sluice)).status, 200);
    await until(() => workerPids(sluice).get(worker) !== before.get(worker));
  }
  await untilBothAnswer(sluice);
  t.match(sluice.stderr(), /"end":"signal SIGKILL".*"a worker ended: it is started again"/);
  t.equal((await runToEnd('cli/token.ts', [], { DATA_DIR: sluice.dataDir })).status, 0);
});

t.test('workers that all end at once are all started again', async (t) => {
  const sluice = await startWorkers(t, chdb.url);
  await untilBothAnswer(sluice);
  const before = workerPids(sluice);
  for (const pid of before.values()) process.kill(pid, 'SIGKILL');
  await until(() => [1, 2].every((worker) => workerPids(sluice).get(worker) !== before.get(worker)));
  await untilBothAnswer(sluice);
});

t.test('a scrape of any worker tells of all, and says who did not answer', async (t) => {
  const sluice = await startWorkers(t, chdb.url, { METRICS_TOKEN: 'metrics-token-0123456789' });
  await untilBothAnswer(sluice);
  const scrape = async (token = 'metrics-token-0123456789') => {
    const response = await fetch(`${sluice.baseUrl}/metrics`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: response.status, text: await response.text() };
  };
  t.equal((await scrape('metrics-token-012345678')).status, 401);
  t.equal((await fetch(`${sluice.baseUrl}/metrics`)).status, 401);
  t.equal((await scrape(sluice.token)).status, 401, 'an access token is none');

  const before = workerPids(sluice);
  process.kill(before.get(2) as number, 'SIGKILL');
  await until(() => workerPids(sluice).get(2) !== before.get(2));
  await untilBothAnswer(sluice);
  const { status, text } = await scrape();
  t.equal(status, 200);
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  t.strictSame(
    series.filter((line) => !/[{,]worker="[12]"[,}]/.test(line)),
    [],
    'every series has its worker',
  );
  for (const worker of [1, 2]) {
    const own = series.filter((line) => line.includes(`worker="${worker}"`));
    const route = 'route="/:project/:space",method="GET"';
    t.ok(own.some((line) => line.startsWith(`sluice_http_requests_total{${route},status="200",worker`)));
    for (const name of [
      ...'sluice_http_request_duration_seconds_bucket sluice_http_requests_in_flight'.split(' '),
      ...'sluice_uploads_in_flight sluice_upload_memory_used_bytes sluice_uploads_waiting'.split(' '),
      ...'sluice_database_statements_in_flight nodejs_eventloop_lag_p99_seconds'.split(' '),
      ...'process_cpu_seconds_total process_resident_memory_bytes'.split(' '),
      `sluice_worker_up{worker="${worker}"} 1`,
      `sluice_worker_restarts_total{worker="${worker}"} ${worker - 1}`,
    ]) {
      t.ok(
        own.some((line) => line.startsWith(name)),
        `${name} of worker ${worker}`,
      );
    }
  }
  for (const secret of [sluice.token, 'metrics-token', 'many', 'things', sluice.dataDir, 'NaN', 'null']) {
    t.notOk(text.includes(secret), `nothing of ${secret}`);
  }

  // it may be the one that gets the request, so connections are made until the other does
  process.kill(workerPids(sluice).get(2) as number, 'SIGSTOP');
  t.teardown(() => process.kill(workerPids(sluice).get(2) as number, 'SIGCONT'));
  let stuck = '';
  await until(async () => {
    try {
      const response = await fetch(`${sluice.baseUrl}/metrics`, {
        headers: { authorization: 'Bearer metrics-token-0123456789', connection: 'close' },
        signal: AbortSignal.timeout(1500),
      });
      stuck = await response.text();
    } catch {
      // the worker that stands still has it
    }
    return stuck.includes('sluice_worker_up{worker="2"} 0');
  });
  t.match(stuck, 'sluice_worker_up{worker="1"} 1');
  t.notMatch(stuck, /process_cpu_seconds_total\{worker="2"\}/);
  process.kill(workerPids(sluice).get(2) as number, 'SIGCONT');
});
