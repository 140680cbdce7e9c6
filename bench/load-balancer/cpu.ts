/**
 * Question: what CPU time does the load balancer of docker-compose.yml take, for a GiB of uploads and for a small request, TLS
 * included? `node --import tsx bench/load-balancer/cpu.ts [--rounds N] [--gib N] [--amount N]`, with `haproxy` on the PATH.
 *
 * HAProxy runs with the mounted configuration. This process is the server behind it, which reads bodies and answers 2 KB, and
 * the clients: only HAProxy's CPU time counts, from /proc. Medians of the rounds.
 */
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeKeys } from '../../deploy/compose/init/make-keys.ts';
import { freePorts } from '../../test/services/free-port.ts';
import { startHaproxy } from '../../test/services/haproxy.ts';
import { startNameServer } from '../../test/services/name-server.ts';
import { runLoad } from '../query/run-load.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { childPids, cpuSeconds } from '../upload/harness/process-usage.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    gib: { type: 'string', default: '1' },
    amount: { type: 'string', default: '5000' },
  },
});
const [rounds, gib, amount] = [values.rounds, values.gib, values.amount].map(Number) as [
  number,
  number,
  number,
];

const answer = JSON.stringify({ text: 'x'.repeat(2000) });
const server = createServer((incoming, response) => {
  incoming.resume();
  incoming.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
});
const port = await freePorts(3);
server.listen(port + 2, '127.0.0.2');
await once(server, 'listening');
const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
await makeKeys({ folder, host: 'localhost', bucket: 'files' });
const certificate = join(folder, 'tls', 'sluice.pem');
const names = await startNameServer(new Map([['service', ['127.0.0.2']]]));
const address = `service:${port + 2}`;
const haproxy = await startHaproxy({
  certificate,
  port,
  healthPort: port + 1,
  nameServerPort: names.port,
  gateways: address,
  queries: address,
});
const master = haproxy.process.pid as number;
const used = (): number => cpuSeconds([master, ...childPids(master)]);

const ca = await readFile(certificate);
const chunk = Buffer.alloc(256 * 1024, 'x');
async function upload(bytes: number): Promise<void> {
  const outgoing = request(`https://127.0.0.1:${port}/_f_/bench/upload`, {
    method: 'POST',
    ca,
    headers: { 'content-length': bytes },
  });
  const answered = once(outgoing, 'response');
  for (let sent = 0; sent < bytes; sent += chunk.byteLength) {
    if (!outgoing.write(chunk)) await once(outgoing, 'drain');
  }
  outgoing.end();
  const [response] = (await answered) as [{ statusCode: number; resume(): void }];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`the upload was answered ${response.statusCode}`);
}

/** @param path of a read, or of a write, which gets a new connection to the server */
async function requests(method: 'GET' | 'POST', path: string): Promise<void> {
  const headers = { structure: 'x'.repeat(1000) };
  const { good, bad } = await runLoad({
    url: `https://127.0.0.1:${port}`,
    connections: 32,
    amount,
    requests: [{ method, path, headers, ...(method === 'POST' && { body: '{}' }) }],
  });
  if (bad > 0 || good < amount) throw new Error(`${good} good and ${bad} bad answers`);
}

// until HAProxy finds the servers
for (let tries = 0; ; tries++) {
  const ready = await upload(chunk.byteLength).then(
    () => true,
    () => false,
  );
  if (ready) break;
  if (tries === 100) throw new Error(`HAProxy finds no server: ${haproxy.log()}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
const kinds: [string, number, () => Promise<void>][] = [
  ['CPU-seconds a GiB of upload', gib, () => upload(gib * 1024 ** 3)],
  ['CPU-milliseconds a GET, answer of 2 KB', amount / 1000, () => requests('GET', '/bench/people')],
  [
    'CPU-milliseconds a POST, a new connection behind',
    amount / 1000,
    () => requests('POST', '/bench/people'),
  ],
];
const machine = machineLine(describeMachine());
process.stdout.write(`${machine}; ${rounds} rounds\n\n`);
for (const [name, unit, run] of kinds) {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = used();
    await run();
    samples.push((used() - before) / unit);
  }
  process.stdout.write(
    `${name}: ${median(samples).toFixed(3)} (${samples.map((value) => value.toFixed(3))})\n`,
  );
}
await haproxy.stop();
await names.close();
server.closeAllConnections();
server.close();
await rm(folder, { recursive: true, force: true });
