/**
 * Question: do ten accounts with dead webhook addresses delay the webhooks of another account?
 * `node --import tsx bench/hostile/webhooks.ts [--seconds N] [--root FOLDER]`; goal: from the answer to an insert until its
 * call arrives, median and p99 are at most twice the control's.
 *
 * Two processes of the service, each with a client that inserts five records per second and receives their webhooks. In
 * one of them ten accounts have stored 5,000 records and ten of a megabyte each, and insert one more per second: their
 * addresses refuse connections, are silent, or are forbidden. The other is the control, which only has the machine's delays.
 */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { percentileOf } from '#load/run/histogram.ts';
import { startService, webhookStructure } from '../query/direct-store.ts';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { Attacker } from './attacker.ts';
import { newAccount } from './prepare.ts';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, root: { type: 'string', default: repositoryRoot } },
});
const seconds = Number(options.seconds);
const { root } = options;
const deadAccounts = 10;
const insertsPerSecond = 5;
/** Milliseconds after which a call counts as lost. */
const patience = 30_000;

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** When the record with an id arrived. */
const arrivals = new Map<string, number>();
const receiver = createHttpServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  const now = performance.now();
  for (const id of (JSON.parse(text) as { recordIds: string[] }).recordIds) arrivals.set(id, now);
  response.writeHead(204).end();
});
const live = await listening(receiver);
const silence = createServer((socket) => void socket.on('error', () => {}));
const dead = ['http://127.0.0.1:1/', await listening(silence), 'http://10.0.0.1/'];

/** @param body a record, or several; @returns the id of the one */
async function insert(url: string, token: string, address: string, body: object): Promise<string> {
  const structure = webhookStructure('calls', address);
  const answer = await fetch(`${url}/bench/calls${Array.isArray(body) ? '' : '/_single_'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, structure, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${(await answer.text()).slice(0, 300)}`);
  return ((await answer.json()) as { id: string }).id;
}

/** A process, and a client whose calls arrive. */
async function open() {
  const folder = makeTemporaryDirectory();
  const env = { LOG_LEVEL: 'silent', WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };
  const service = await startService(folder, env, { root });
  const token = await newAccount({ folder, root }, 'live');
  const accounts: string[] = [];
  for (let n = 0; n < deadAccounts; n++) accounts.push(await newAccount({ folder, root }, `dead-${n}`));
  return { folder, service, token, accounts };
}

/** Milliseconds from the answer to the arrival of each record. Infinity: it did not arrive. */
async function run({ service, token }: Awaited<ReturnType<typeof open>>, time: number): Promise<number[]> {
  const inserted: Promise<readonly [id: string, answeredAt: number]>[] = [];
  const end = performance.now() + time * 1000;
  for (let next = performance.now(); next < end; next += 1000 / insertsPerSecond) {
    await sleep(Math.max(0, next - performance.now()));
    inserted.push(
      insert(service.ready, token, live, { text: 'x' }).then((id) => [id, performance.now()] as const),
    );
  }
  const answered = await Promise.all(inserted);
  const late = performance.now() + patience;
  while (answered.some(([id]) => !arrivals.has(id)) && performance.now() < late) await sleep(50);
  return answered.map(([id, at]) => Math.max(0, (arrivals.get(id) ?? Number.POSITIVE_INFINITY) - at));
}

type WebhookBench = Awaited<ReturnType<typeof open>>;

function addressOf(account: number): string {
  return dead[account % dead.length] as string;
}

async function fillQueues({ service, accounts }: WebhookBench): Promise<void> {
  const many = Array.from({ length: 5000 }, () => ({ text: 'x' }));
  const large = { text: 'x'.repeat(1_000_000) };
  for (const [n, token] of accounts.entries()) {
    await insert(service.ready, token, addressOf(n), many);
    for (let i = 0; i < 10; i++) await insert(service.ready, token, addressOf(n), large);
  }
}

function attack({ service, accounts }: WebhookBench, signal: AbortSignal): Promise<unknown> {
  return Promise.all(
    accounts.map((token, n) =>
      new Attacker({ url: service.ready, token, signal }).keep(1, 1000, async () => {
        await insert(service.ready, token, addressOf(n), { text: 'x' });
      }),
    ),
  );
}

function line(name: string, times: readonly number[]): string {
  const at = (percent: number): string => percentileOf(times, percent).toFixed(1);
  const lost = times.filter((time) => time === Number.POSITIVE_INFINITY).length;
  return `| ${name} | ${times.length} | ${at(50)} | ${at(99)} | ${lost} |`;
}

progress('accounts are made');
const [attacked, control] = [await open(), await open()];
await Promise.all([run(attacked, 3), run(control, 3)]);
progress('both clients are alone');
const [alone, controlAlone] = await Promise.all([run(attacked, seconds), run(control, seconds)]);
progress('ten accounts with dead addresses begin');
const over = new AbortController();
await fillQueues(attacked);
const attacks = attack(attacked, over.signal);
await sleep(5000);
const [beside, controlBeside] = await Promise.all([run(attacked, seconds), run(control, seconds)]);
const resident = Math.round(residentBytes([attacked.service.pid]) / 1024 ** 2);
over.abort();
await attacks;
console.log(machineLine(describeMachine()));
console.log(
  '\nfrom the answer to the call, ms\n\n| | calls | p50 | p99 | not within 30 s |\n|---|---|---|---|---|',
);
console.log(line('alone', alone));
console.log(line('control, at the same time', controlAlone));
console.log(line('beside ten accounts with dead addresses', beside));
console.log(line('control, at the same time', controlBeside));
console.log(`\nRSS of the attacked process: ${resident} MiB`);
receiver.closeAllConnections();
receiver.close();
silence.close();
for (const { service, folder } of [attacked, control]) {
  await service.stop();
  removeTemporaryDirectory(folder);
}
process.exit(0);
