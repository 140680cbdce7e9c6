/** kill -9 of a gateway while clients send files straight to the store: a file with its row is left, or nothing. */
import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { DirectClient, type Planned, type SentPart } from '../services/direct-client.ts';
import { randomFrom } from '../services/random-from.ts';
import type { FaultRule, FaultStage } from '../services/s3-stub/fault-rules.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import {
  killAll,
  removeData,
  runToEnd,
  type Sluice,
  type StartOptions,
  startSluice,
} from '../services/start-sluice.ts';
import { seed } from '../services/test-size.ts';

/** At random times, on each store. KILLS=50 tries more of them. */
const kills = Number(process.env.KILLS ?? 5);
const partBytes = 5 * 1024 ** 2;
const bytes = Buffer.from(new Uint8Array(patternBytes(partBytes + 1000)));
const small = bytes.subarray(0, 1000);
/** Older than a plan is kept for bytes that come late. Milliseconds. */
const longAfter = 30 * 3_600_000;
const account = { user: 'sluice', password: 'a-password-of-a-test' };
const random = randomFrom(seed);
const draw = (limit: number): number => Math.floor(random() * limit);

const clientOf = ({ baseUrl, token }: Sluice): DirectClient =>
  new DirectClient(baseUrl, { authorization: `Bearer ${token}` });

/** Names of all files of the project. */
async function filesAt(client: DirectClient): Promise<string[]> {
  const names: string[] = [];
  let after = '';
  do {
    const { body } = await client.ask('GET', `/_f_/demo?limit=100${after}`);
    for (const { name } of body.files ?? []) names.push(name);
    after = body.next ? `&after=${encodeURIComponent(body.next)}` : '';
  } while (after !== '');
  return names.sort();
}

/** Runs the janitor twice: what a plan held goes in the second run. */
async function clean(t: Test, env: Record<string, string>): Promise<void> {
  for (const run of ['first', 'second']) {
    const { stdout, stderr } = await runToEnd('cli/janitor.ts', [], env);
    t.match(JSON.parse(stdout || '{}'), { failures: 0, rowsMade: 0 }, `${run}: ${stderr}`);
  }
}

/** A call of the object store that never ends, before or after its work is done, and the request that makes it. */
interface Step extends Pick<FaultRule, 'operation'> {
  readonly at: 'object' | 'plan' | 'mark';
  readonly does: 'plan' | 'complete' | 'verify' | 'drop';
  readonly content: Buffer;
}
const steps: Readonly<Record<string, Step>> = {
  'plan-begins-the-upload': {
    operation: 'CreateMultipartUpload',
    at: 'object',
    does: 'plan',
    content: bytes,
  },
  'plan-is-saved': { operation: 'PutObject', at: 'plan', does: 'plan', content: small },
  'plan-of-parts-is-saved': { operation: 'PutObject', at: 'plan', does: 'plan', content: bytes },
  'empty-file': { operation: 'PutObject', at: 'object', does: 'complete', content: small.subarray(0, 0) },
  'looks-at-the-object': { operation: 'HeadObject', at: 'object', does: 'complete', content: small },
  'lists-the-parts': { operation: 'ListParts', at: 'object', does: 'complete', content: bytes },
  'joins-the-parts': { operation: 'CompleteMultipartUpload', at: 'object', does: 'complete', content: bytes },
  'looks-at-what-was-joined': { operation: 'HeadObject', at: 'object', does: 'complete', content: bytes },
  'reads-what-was-sent': { operation: 'GetObject', at: 'object', does: 'verify', content: small },
  'reads-what-was-joined': { operation: 'GetObject', at: 'object', does: 'verify', content: bytes },
  'drop-aborts-the-upload': { operation: 'AbortMultipartUpload', at: 'object', does: 'drop', content: bytes },
  'drop-closes-the-plan': { operation: 'PutObject', at: 'mark', does: 'drop', content: small },
  'drop-of-parts-closes-the-plan': { operation: 'PutObject', at: 'mark', does: 'drop', content: bytes },
};
const stages: readonly FaultStage[] = ['before-body', 'after-work'];
const afterwards = ['goes-on', 'is-left'] as const;

const keysOf: Readonly<Record<Step['at'], (name: string) => RegExp>> = {
  object: (name) => new RegExp(`^((?!/_direct/).)*_${name}$`),
  plan: (name) => new RegExp(`/_direct/.*_${name}$`),
  mark: (name) => new RegExp(`/_direct/.*_${name}!closed$`),
};

interface Cut extends Pick<Step, 'does' | 'content'> {
  readonly name: string;
  readonly planned: Planned | null;
  readonly goesOn: boolean;
}

/** Brings an upload to the request that never ends. */
async function cutUpload(client: DirectClient, name: string, step: Step): Promise<Cut> {
  const { content, does } = step;
  const cut = { name, content, does, goesOn: name.endsWith('goes-on') };
  const wanted = { name, size: content.length, partBytes };
  if (does === 'plan') {
    client.plan(wanted).catch(() => {});
    return { ...cut, planned: null };
  }
  const planned = await client.plan(wanted);
  await client.send(planned, content);
  const request =
    does === 'drop'
      ? client.drop(planned)
      : client.ask('POST', `${planned.location}/complete${does === 'verify' ? '?verify=bytes' : ''}`);
  request.catch(() => {});
  return { ...cut, planned };
}

/** Goes on at another gateway. @returns whether there is a file */
async function goOn(t: Test, client: DirectClient, { name, content, planned, does }: Cut): Promise<boolean> {
  if (planned === null) return false;
  if (does === 'drop') {
    t.match((await client.drop(planned)).status, /^(204|404)$/, name);
    t.equal((await client.complete(planned)).status, 404, name);
    return false;
  }
  const state = await client.state(planned);
  t.match(state, { status: 200, body: { state: /^(open|complete)$/ } }, name);
  const { status, body } = await client.complete(planned);
  t.equal(status, 200, `${name}: ${JSON.stringify(body)}`);
  t.ok((await client.bytesOf(planned.id))?.equals(content), `${name}: the bytes`);
  return true;
}

t.test('at each step, on S3', async (t) => {
  const clickhouse = await startFaultyClickhouse(account);
  const stub = await startS3Stub({ md5Etags: true });
  const env = {
    ...stubSettings(stub),
    CLICKHOUSE_URL: clickhouse.url,
    CLICKHOUSE_USER: account.user,
    CLICKHOUSE_PASSWORD: account.password,
    // nothing but the kill ends a call
    S3_REQUEST_TIMEOUT_MS: '600000',
  };
  const start = () => startSluice({ script: 'gateway/main.ts', env });
  const [one, two] = await Promise.all([start(), start()]);
  t.teardown(async () => {
    await killAll([one, two]);
    await stub.close();
    await clickhouse.close();
  });
  const client = clientOf(one);
  const files: string[] = [];
  // what a store can do is probed before calls are held up
  for (const content of [small, bytes]) {
    const planned = await client.plan({ size: content.length, partBytes });
    await client.send(planned, content);
    t.equal((await client.complete(planned)).status, 200);
    files.push(planned.id);
  }
  const cuts: Cut[] = [];
  for (const [what, step] of Object.entries(steps)) {
    const variants = stages.flatMap((stage) =>
      afterwards.map((then) => ({ stage, name: `${what}-${stage}-${then}` })),
    );
    const cut = async ({ stage, name }: { readonly stage: FaultStage; readonly name: string }) => {
      const { operation, at } = step;
      const fault = stub.fault({
        ...(operation && { operation }),
        key: keysOf[at](name),
        action: { kind: 'hang', stage },
      });
      cuts.push(await cutUpload(client, name, step));
      for (let waited = 0; fault.hits === 0; waited++) {
        if (waited > 1000) throw new Error(`${name}: no such call`);
        await sleep(20);
      }
    };
    await Promise.all(variants.map(cut));
  }
  // of what is acknowledged, or dropped, the plan is still there
  const forgets = stub.fault({ operation: 'DeleteObjects', action: { kind: 'hang' } });
  const done = await client.plan({ size: small.length });
  await client.send(done, small);
  t.equal((await client.complete(done)).status, 200);
  files.push(done.id);
  const dropped = await client.plan({ size: small.length });
  await client.send(dropped, small);
  client.drop(dropped).catch(() => {});
  while (forgets.hits < 2) await sleep(20);
  clickhouse.fault({ match: 'INSERT INTO .*cloud_files', action: { kind: 'hold' } });
  const name = 'writes-its-row-goes-on';
  cuts.push(await cutUpload(client, name, { at: 'object', does: 'complete', content: bytes }));
  await clickhouse.untilHeld(1);
  await one.kill();
  stub.clearFaults();

  const other = clientOf(two);
  for (const cut of cuts) {
    if (!cut.goesOn) continue;
    if ((await goOn(t, other, cut)) && cut.planned !== null) files.push(cut.planned.id);
  }
  // the row of the gateway that is dead comes after all
  clickhouse.clear();
  // it is closed, but its plan is there, and nobody heard that it is dropped
  t.equal((await other.complete(dropped)).status, 200);
  files.push(dropped.id);
  await sleep(1000);
  stub.age(longAfter);
  await clean(t, { ...env, DATA_DIR: two.dataDir });
  t.strictSame(await filesAt(other), files.sort(), 'a row for each that was acknowledged');
  t.strictSame(stub.openUploads(), [], 'no multipart upload is left');
  const names = stub.objects().map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  t.strictSame(names.sort(), files, 'no object, no plan and no mark is left');
  await two.stop();
});

/** A server with a store, killed and started again on the same data. */
interface Place {
  readonly options: StartOptions & { readonly env: Record<string, string> };
  /** Makes all that is stored older. Milliseconds. */
  age(server: Sluice, milliseconds: number): Promise<void>;
  /** What is stored: names of objects, and whatever else there is. */
  stored(server: Sluice): Promise<string[]>;
}

/** What clients know of their files. */
interface Known {
  readonly acknowledged: Map<string, Buffer>;
  /** The answer to a completion, a removal or a drop did not come. */
  readonly unsure: Map<
    string,
    { readonly planned: Planned; readonly content: Buffer; readonly gone: boolean }
  >;
  readonly odd: string[];
  readonly counts: { planned: number; unsure: number };
}

/** Sends files until the server is gone: some are dropped, some are left, some are deleted. */
async function sendUntilGone(
  client: DirectClient,
  { acknowledged, unsure, odd, counts }: Known,
): Promise<void> {
  for (;;) {
    const content = draw(6) === 0 ? bytes : bytes.subarray(0, draw(2000));
    const [plans, deletes] = [draw(10), draw(5)];
    let gone = false;
    let planned: Planned | null = null;
    try {
      planned = await client.plan({ size: content.length, partBytes });
      counts.planned++;
      const sent: SentPart[] = await client.send(planned, content);
      if (plans === 0) continue;
      unsure.set(planned.id, { planned, content, gone: false });
      if (plans === 1) {
        gone = true;
        unsure.set(planned.id, { planned, content, gone });
        const { status } = await client.drop(planned);
        if (status !== 204) odd.push(`drop: ${status}`);
        unsure.delete(planned.id);
        continue;
      }
      const { status, body } = await client.complete(planned, sent);
      if (status !== 200) odd.push(`complete: ${status} ${JSON.stringify(body)}`);
      unsure.delete(planned.id);
      acknowledged.set(planned.id, content);
      if (deletes > 0) continue;
      gone = true;
      acknowledged.delete(planned.id);
      unsure.set(planned.id, { planned, content, gone });
      const deleted = await client.delete(planned.id);
      if (deleted !== 204) odd.push(`delete: ${deleted}`);
      unsure.delete(planned.id);
    } catch (error) {
      // an answer of the server is no connection that broke
      if (error instanceof Error && /^(no plan|part)/.test(error.message)) odd.push(error.message);
      return;
    }
  }
}

/** After a restart: clients ask what became of what they don't know, and half of them go on. */
async function askAgain(
  t: Test,
  client: DirectClient,
  { acknowledged, unsure, counts }: Known,
): Promise<void> {
  counts.unsure += unsure.size;
  for (const [id, { planned, content, gone }] of unsure) {
    unsure.delete(id);
    const { status, body } = await client.state(planned);
    t.match(status, gone ? /^(200|404)$/ : 200, `${id}: ${JSON.stringify(body)}`);
    if (gone) {
      const isFile = status === 200 && body.state === 'complete';
      if (isFile) t.match(await client.delete(id), /^(204|404)$/);
      else if (status === 200) t.match(await client.drop(planned), { status: 204 });
      continue;
    }
    if (body.state === 'open' && draw(2) === 0) continue;
    const completed = await client.complete(planned);
    t.match(completed, { status: 200 }, JSON.stringify(completed.body));
    acknowledged.set(id, content);
  }
}

async function killAtRandom(t: Test, { options, age, stored }: Place): Promise<void> {
  const known: Known = {
    acknowledged: new Map(),
    unsure: new Map(),
    odd: [],
    counts: { planned: 0, unsure: 0 },
  };
  let server = await startSluice(options);
  t.teardown(() => killAll([server]));
  for (let kill = 0; kill < kills; kill++) {
    const client = clientOf(server);
    await askAgain(t, client, known);
    const clients = [1, 2, 3].map(() => sendUntilGone(client, known));
    await sleep(50 + draw(600));
    await server.kill();
    await Promise.all(clients);
    server = await server.restart();
  }
  const client = clientOf(server);
  await askAgain(t, client, known);
  const { acknowledged, counts } = known;
  t.comment(
    `${kills} kills, ${counts.planned} plans, ${counts.unsure} requests cut off, ${acknowledged.size} files`,
  );
  t.strictSame(known.odd, [], 'answers of a server in good health');
  await server.stop();
  await age(server, longAfter);
  await clean(t, { ...options.env, DATA_DIR: server.dataDir });
  const names = [...known.acknowledged.keys()].sort();
  t.strictSame(await stored(server), names, 'an object for each file, and nothing else');
  server = await server.restart();
  const again = clientOf(server);
  t.strictSame(await filesAt(again), names, 'a row for each file');
  for (const [id, content] of known.acknowledged)
    if (!(await again.bytesOf(id))?.equals(content)) t.fail(`${id} has other bytes`);
  await server.stop();
  await removeData(server);
}

t.test('at random times, on the file system', { timeout: 1_800_000 }, (t) => {
  const folder = ({ dataDir }: Sluice) => join(dataDir, 'files');
  const filesIn = async (root: string) => {
    const found = await readdir(root, { recursive: true, withFileTypes: true });
    return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  };
  return killAtRandom(t, {
    options: { env: {} },
    async age(server, milliseconds) {
      for (const path of await filesIn(folder(server))) {
        const then = new Date((await stat(path)).mtimeMs - milliseconds);
        await utimes(path, then, then);
      }
    },
    async stored(server) {
      const paths = (
        await Promise.all(['objects', 'unfinished'].map((name) => filesIn(join(folder(server), name))))
      ).flat();
      return paths.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort();
    },
  });
});

t.test('at random times, on S3', { timeout: 1_800_000 }, async (t) => {
  const clickhouse = await startFaultyClickhouse(account);
  const stub = await startS3Stub({ md5Etags: true });
  t.teardown(async () => {
    await stub.close();
    await clickhouse.close();
  });
  await killAtRandom(t, {
    options: {
      script: 'gateway/main.ts',
      env: {
        ...stubSettings(stub),
        CLICKHOUSE_URL: clickhouse.url,
        CLICKHOUSE_USER: account.user,
        CLICKHOUSE_PASSWORD: account.password,
      },
    },
    age: async (_server, milliseconds) => stub.age(milliseconds),
    async stored() {
      const keys = [...stub.objects(), ...stub.openUploads()].map(({ key }) => key);
      return keys.map((key) => key.slice(key.lastIndexOf('/') + 1)).sort();
    },
  });
});
