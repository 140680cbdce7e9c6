/** What a target costs, by its process and by its metrics. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { psCost, treeOf } from '../../load/cost/ps-cost.ts';
import { watchCost } from '../../load/cost/watch-cost.ts';
import { rejectionOf } from '../services/rejection-of.ts';

/** Burns CPU for a line of its input, as does a process that it starts, and writes what both used by then. */
const burner = `
const burn = () => { const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end) for (let n = 0; n < 1e6; n++) Math.sqrt(n); };
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; };
if (process.argv[1] === 'child') process.on('message', () => { burn(); process.send(used()); });
else {
  const child = require('node:child_process').spawn(process.execPath, ['-e', process.env.SCRIPT, 'child'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  process.stdin.on('data', () => { burn(); child.send(0); });
  process.stdin.on('end', () => child.kill());
  child.on('message', (ofChild) => console.log(used() + ofChild));
  child.on('spawn', () => console.log('ready'));
}
`;

t.test(
  'a process and those that it started: CPU and memory',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const child = spawn(process.execPath, ['-e', burner, 'parent'], {
      env: { SCRIPT: burner },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const nextLine = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]);
    await nextLine();
    const before = nextLine();
    child.stdin.write('burn\n');
    const usedBefore = Number(await before);
    const watch = await watchCost({ pid: child.pid as number });
    const after = nextLine();
    child.stdin.write('burn\n');
    const used = Number(await after) - usedBefore;
    const sample = await watch.read();
    t.ok(used > 0.5, `both burnt: ${used} s`);
    // a tick of /proc is 10 ms, and there are four figures
    t.ok(Math.abs(watch.total.cpu - used) < 0.1, `${watch.total.cpu} of ${used} s`);
    t.ok((sample?.memory ?? 0) > 40e6, 'two processes of Node');
    t.equal(watch.total.memory >= (sample?.memory ?? 0), true);
    t.equal(watch.total.source, `pid ${child.pid}`);
    t.equal(watch.problem, null);

    child.stdin.end();
    await once(child, 'exit');
    t.equal(await watch.read(), null);
    t.equal(watch.problem, `The target's CPU was not always known: there is no process ${child.pid}.`);
    t.match(await rejectionOf(watchCost({ pid: child.pid as number })), {
      message: `the target's CPU is not known: there is no process ${child.pid}`,
    });
  },
);

t.test('what ps lists', async (t) => {
  const listing = `
    1     0   9000   3:12.50
  500     1 100000   1:02.25
  501   500  50000   0:00.75
  502   501   1000 1-00:00:01
  600     1   7000  11:11.11
`;
  t.strictSame(treeOf(listing, 500), { cpu: 62.25 + 0.75 + 86_401, memory: 151_000 * 1024 });
  t.equal(treeOf(listing, 7), null);
  const own = await psCost(process.pid)(AbortSignal.timeout(60_000));
  t.ok(own.memory > 20e6 && own.cpu >= 0, 'this machine lists alike');
});

/** A server with metrics, and what it answers with. */
async function metricsServer(t: Test) {
  const state = { status: 200, body: '', authorization: '' as string | undefined };
  const server = createServer((request, answer) => {
    state.authorization = request.headers.authorization;
    answer.writeHead(state.status).end(state.body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { state, url: `http://127.0.0.1:${port}/metrics` };
}

const metrics = (cpu: number, memory: number): string => `# HELP process_cpu_seconds_total Total.
process_cpu_seconds_total{worker="a}b"} ${cpu}
process_cpu_seconds_total{worker="2"} 1.5e1
process_cpu_seconds_total_other 7
process_resident_memory_bytes ${memory} 1395066363000
`;

t.test('metrics of a server, whose processes are summed up', async (t) => {
  const { state, url } = await metricsServer(t);
  state.body = metrics(1, 100e6);
  const watch = await watchCost({ metrics: url, token: 'secret' });
  t.equal(state.authorization, 'Bearer secret');
  state.body = metrics(3, 120e6);
  t.match(await watch.read(), { memory: 120e6 });
  t.strictSame(watch.total, { cpu: 2, memory: 120e6, source: url });
  state.body = metrics(0, 110e6);
  t.equal((await watch.read())?.cpu, 0, 'it was started again');
  state.body = metrics(1, 110e6);
  const [one, other] = await Promise.all([watch.read(), watch.read()]);
  t.equal(one, other, 'one reading serves both');
  t.equal(watch.total.cpu, 3);
  state.status = 503;
  t.equal(await watch.read(), null);
  t.equal(watch.problem, `The target's CPU was not always known: ${url} answered 503.`);
});

t.test('metrics that say nothing', async (t) => {
  const { state, url } = await metricsServer(t);
  for (const [status, body, reason] of [
    [401, '', `${url} answered 401`],
    [200, 'up 1\n', `${url} has no process_cpu_seconds_total`],
    [200, metrics(Number.NaN, 1), `${url} has no process_cpu_seconds_total`],
    [200, 'x'.repeat(2 ** 24 + 1), `${url} answered more than 16777216 bytes`],
  ] as const) {
    Object.assign(state, { status, body });
    t.match(await rejectionOf(watchCost({ metrics: url })), {
      message: `the target's CPU is not known: ${reason}`,
    });
  }
  const gone = createServer();
  await once(gone.listen(0, '127.0.0.1'), 'listening');
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  t.match(await rejectionOf(watchCost({ metrics: `http://127.0.0.1:${port}/metrics` })), {
    message: /^the target's CPU is not known: connect ECONNREFUSED/,
  });
});
