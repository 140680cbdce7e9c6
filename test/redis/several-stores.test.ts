/** Several ClickHouse stores behind one API: where spaces lie, what a store that is away takes with it, and moves. */
import { spawn } from 'node:child_process';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { programArgs } from '../services/built.ts';
import { type Answer, call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { mountSmallDisk } from '../services/small-disk.ts';
import { type ClickhouseProcess, startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, removeData, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { sized } from '../services/test-size.ts';

const login = { user: 'sluice', password: 'hunter2-of-the-stores' };
let [first, second] = await Promise.all([startClickhouse(login), startClickhouse(login)]);
const redis = await startRedis();
const hostOf = ({ url }: { readonly url: string }): string => new URL(url).host;
const envOf = (...stores: readonly { readonly url: string }[]): Record<string, string> => ({
  CLICKHOUSE_URL: stores.map(({ url }) => url).join(';'),
  CLICKHOUSE_USER: login.user,
  CLICKHOUSE_PASSWORD: login.password,
  REDIS_URL: redis.url,
});
let a = await startSluice({ env: envOf(first, second) });
const b = await startSluice({ script: 'query/main.ts', env: envOf(second, first) });
t.teardown(async () => {
  await killAll([a, b]);
  for (const server of [first, second]) await server.close();
  await redis.stop();
});

const project = 'p';
const fields = fieldsOf('name TEXT unique, n NUMBER');
const spaces = Array.from({ length: 12 }, (_, index) => `space-${index}`);
interface Ask {
  readonly path?: string;
  readonly body?: unknown;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}
const ask = (on: Sluice, space: string, { path = '', ...more }: Ask = {}): Promise<Answer> =>
  call({
    ...on,
    path: `/${project}/${space}${path}`,
    structure: structureOf(project, space, fields),
    ...more,
  });
const insertOne = (on: Sluice, space: string, name: string, n = 1): Promise<Answer> =>
  ask(on, space, { path: '/_single_', body: { name, n } });

interface Listed {
  readonly slug: string;
  readonly records: number | null;
  readonly store: { readonly name: string; readonly available: boolean } | null;
}
async function list(on: Sluice): Promise<ReadonlyMap<string, Listed>> {
  const { body, status } = await call({ ...on, path: `/_projects_/${project}/spaces` });
  if (status !== 200) throw new Error(`the list of spaces: ${status} ${JSON.stringify(body)}`);
  return new Map((body as { spaces: Listed[] }).spaces.map((space) => [space.slug, space]));
}
async function storesOf(on: Sluice): Promise<Readonly<Record<string, string | undefined>>> {
  return Object.fromEntries([...(await list(on))].map(([slug, { store }]) => [slug, store?.name]));
}
async function countIn(store: ClickhouseProcess, sql: string): Promise<number> {
  const answer = await fetch(`${store.url}/?default_format=TSV`, {
    method: 'POST',
    body: sql,
    headers: { 'X-ClickHouse-User': login.user, 'X-ClickHouse-Key': login.password },
  });
  return Number(await answer.text());
}
const recordsIn = (store: ClickhouseProcess): Promise<number> =>
  countIn(store, 'SELECT count() FROM sluice.records');

/** A start that is to fail: what it says. */
async function refusalOf(env: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-refused-'));
  const { status, stderr } = await runToEnd('query/main.ts', [], { PORT: '0', DATA_DIR: folder, ...env });
  await removeData({ dataDir: folder } as Sluice);
  const said = stderr.split('\n').filter((line) => line.startsWith('sluice: '));
  return `${status} ${said.join('\n')}`;
}

t.test('spaces spread over the stores, and each lies in one', async (t) => {
  for (const space of spaces) {
    const records = Array.from({ length: 10 }, (_, n) => ({ name: `r${n}`, n }));
    t.equal((await ask(a, space, { body: records })).status, 200);
    t.equal(
      (await ask(b, space)).body.length,
      10,
      'the other process finds them, with its stores in another order',
    );
  }
  t.equal((await recordsIn(first)) + (await recordsIn(second)), 120);
  const stores = Object.values(await storesOf(a));
  for (const server of [first, second]) t.ok(stores.includes(hostOf(server)), 'both have some');
  t.strictSame(await storesOf(b), await storesOf(a));
  t.equal(await countIn(first, 'SELECT count() FROM sluice.users FINAL'), 1);
  t.equal(
    await countIn(second, `SELECT count() FROM system.tables WHERE database = 'sluice' AND name = 'users'`),
    0,
    'the accounts are in the first one alone',
  );
});

t.test('the stores may be named in another order, and a new one moves nothing', async (t) => {
  const before = await storesOf(a);
  a = await restarted(a, envOf(second, first));
  t.strictSame(await storesOf(a), before);
  const third = await startClickhouse(login);
  a = await restarted(a, envOf(first, third, second));
  t.strictSame(await storesOf(a), before);
  for (let n = 0; n < 12; n++) t.equal((await insertOne(a, `more-${n}`, 'x')).status, 200);
  const taken = Object.entries(await storesOf(a)).filter(([, name]) => name === hostOf(third));
  t.ok(taken.length > 0, 'it takes its share of new spaces');
  const missing = await refusalOf(envOf(first, second));
  t.match(missing, `1 sluice: CLICKHOUSE_URL does not name the store ${hostOf(third)}, in which ${project}/`);
  for (const [slug] of taken) {
    const url = `${a.baseUrl}/_projects_/${project}/spaces/${slug}`;
    const { status } = await fetch(url, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${a.token}` },
    });
    t.equal(status, 204);
  }
  a = await restarted(a, envOf(first, second));
  await third.close();
});

t.test('what can’t be right is refused at the start, in one sentence', async (t) => {
  const other = await startClickhouse(login);
  const stranger = await startSluice({ script: 'query/main.ts', env: envOf(other) });
  await stranger.stop();
  await removeData(stranger);
  const sentence = (text: string): string => `1 sluice: ${text}`;
  t.match(await refusalOf(envOf(first, other)), sentence('the stores '), 'two with accounts');
  t.match(await refusalOf(envOf(first, other)), 'are the first stores of two deployments');
  t.match(
    await refusalOf(envOf(second)),
    sentence(`the database sluice of ${hostOf(second)} belongs to a deployment whose first store`),
  );
  const alias = { url: second.url.replace('127.0.0.1', 'localhost') };
  t.match(await refusalOf(envOf(first, second, alias)), 'CLICKHOUSE_URL names one store twice');
  const same = { url: first.url.replace('127.0.0.1', 'localhost') };
  t.match(
    await refusalOf(envOf(first, same, second)),
    /is the first store under another address|names one store/,
  );
  t.match(
    await refusalOf(envOf(first, second, { url: 'http://127.0.0.1:1' })),
    'the store 127.0.0.1:1 does not answer, and was not used before',
  );
  t.match(
    await refusalOf(envOf(second, { url: 'http://127.0.0.1:1' })),
    'none of the others has the accounts',
  );
  await other.close();
});

t.test('a store that is away takes only its spaces with it', async (t) => {
  const stores = await storesOf(a);
  const readable = (on: Sluice) =>
    Promise.all(spaces.map(async (space) => [space, (await ask(on, space)).status] as const));
  await second.kill();
  for (const [space, status] of await readable(a))
    t.equal(status, stores[space] === hostOf(second) ? 503 : 200, space);
  const away = spaces.find((space) => stores[space] === hostOf(second)) as string;
  t.match(await insertOne(a, away, 'lost?'), { status: 503, body: { code: 'not_ready' } });
  t.match(await call({ ...a, path: '/readyz' }), {
    status: 200,
    body: {
      stores: [
        { name: hostOf(first), available: true },
        { name: hostOf(second), available: false },
      ],
    },
  });
  const text = await (await fetch(`${a.baseUrl}/metrics`)).text();
  t.match(text, `sluice_store_available{store="${hostOf(second)}",worker="1"} 0`);
  t.match((await list(a)).get(away), { records: null, store: { name: hostOf(second), available: false } });
  for (let n = 0; n < 6; n++)
    t.equal((await insertOne(a, `meanwhile-${n}`, 'x')).status, 200, 'new spaces go elsewhere');
  a = await restarted(a, envOf(first, second));
  for (const [space, status] of await readable(a))
    t.equal(status, stores[space] === hostOf(second) ? 503 : 200, 'also after a start without it');
  second = await second.restart();
  for (const on of [a, b]) await until(async () => (await ask(on, away)).status === 200);
  for (const [, status] of await readable(b)) t.equal(status, 200);
  t.equal((await insertOne(b, away, 'again')).status, 200);
  for (const { stderr } of [a, b]) t.notMatch(stderr(), login.password);
});

t.test('a store with older data than it had is not used', async (t) => {
  const stores = await storesOf(a);
  const space = spaces.find((one) => stores[one] === hostOf(second)) as string;
  const goes = async (): Promise<void> => {
    t.equal((await ask(a, space)).status, 503);
    second = await second.restart();
    await until(async () => (await insertOne(a, space, `newer ${Math.random()}`)).status === 200);
  };
  await second.kill();
  const backup = await mkdtemp(join(tmpdir(), 'sluice-older-'));
  await cp(second.dataDir, backup, { recursive: true });
  await goes();
  await second.kill();
  t.equal((await ask(a, space)).status, 503);
  const older = await startClickhouse({ ...login, dataDir: backup, port: Number(new URL(second.url).port) });
  await sleep(2500);
  t.equal((await ask(a, space)).status, 503);
  t.ok(a.stderr().includes('has older data than it had'));
  t.match(
    await refusalOf(envOf(first, second)),
    /has older data than it had: .* Was it set back to a backup/,
  );
  await older.close();
  await goes();
});

t.test('a space moves while it is read and written', async (t) => {
  const space = 'moving';
  const records = Array.from({ length: sized(20_000, 3_000) }, (_, n) => ({ name: `r${n}`, n }));
  for (let from = 0; from < records.length; from += 5000)
    t.equal((await ask(a, space, { body: records.slice(from, from + 5000) })).status, 200);
  for (const target of [otherOf(await storeOf(space)), otherOf(otherOf(await storeOf(space)))]) {
    const writers = new Writers(space);
    await writers.begin();
    const key = { 'idempotency-key': `key-${target}-before` };
    const keyed = { path: '/_single_', body: { name: `keyed ${target}`, n: 1 }, headers: key };
    const inserted = await ask(a, space, keyed);
    const { status, stdout } = await move(space, target);
    t.equal(status, 'arrived', stdout);
    t.strictSame((await ask(b, space, keyed)).body, inserted.body, 'a repeated insert is known there');
    await writers.end(t);
    t.equal(await storeOf(space), target);
  }
});

t.test('a move that is cut off leaves the space whole in one of the two stores', async (t) => {
  const space = 'cut';
  const records = Array.from({ length: 3_000 }, (_, n) => ({ name: `r${n}`, n }));
  t.equal((await ask(a, space, { body: records })).status, 200);
  for (let round = 0; round < sized(10, 3); round++) {
    const target = otherOf(await storeOf(space));
    const writers = new Writers(space);
    await writers.begin();
    await move(space, target, 1200 + round * 250);
    // a writer waits until others may take the move for dead
    await writers.end(t);
  }
  const target = otherOf(await storeOf(space));
  t.match(await move(space, target), { status: 'arrived' }, 'the same command goes on');
  t.equal(await storeOf(space), target);
});

t.test('a move to a store that is killed meanwhile', async (t) => {
  const space = 'killed';
  first = await first.restart();
  await until(async () => (await call({ ...a, path: `/_projects_/${project}/spaces` })).status === 200);
  await until(async () => (await insertOne(a, space, 'one')).status === 200);
  if ((await storeOf(space)) !== hostOf(first))
    t.match(await move(space, hostOf(first)), { status: 'arrived' });
  const records = Array.from({ length: 3_000 }, (_, n) => ({ name: `r${n}`, n }));
  t.equal((await ask(a, space, { body: records })).status, 200);
  const moving = move(space, hostOf(second));
  await sleep(1500);
  await second.kill();
  const { status, stderr } = await moving;
  if (status !== 'arrived') {
    t.match(stderr, /^sluice: /m);
    t.equal((await ask(a, space)).body.length, 3_001);
    t.equal(await storeOf(space), hostOf(first));
  }
  second = await second.restart();
  await until(async () => (await insertOne(a, space, 'after')).status === 200);
  t.equal((await ask(b, space)).body.length, 3_002);
});

t.test('a move to a store whose disk is full', async (t) => {
  const disk = mountSmallDisk(t, 600);
  if (disk === null) return t.comment('NOT TESTED: a full disk, as only root may mount one');
  const small = await startClickhouse({ ...login, dataDir: disk.folder });
  t.teardown(() => small.kill());
  const space = 'too-large';
  const records = Array.from({ length: 2_000 }, (_, n) => ({ name: `r${n}`, n }));
  t.equal((await ask(a, space, { body: records })).status, 200);
  const before = await storeOf(space);
  a = await restarted(a, envOf(first, second, small));
  disk.fill(64 * 1024);
  const refused = await move(space, hostOf(small), undefined, envOf(first, second, small));
  t.match(refused, {
    status: 1,
    stderr: /^sluice: (?:the move stopped: .*not enough space|the store \S+ does not respond)/im,
  });
  t.equal(await storeOf(space), before);
  t.equal((await ask(a, space)).body.length, 2_000);
  disk.empty();
  const env = envOf(first, second, small);
  t.match(
    await move(space, hostOf(small), undefined, env),
    { status: 'arrived' },
    'the same command goes on',
  );
  t.equal((await ask(a, space)).body.length, 2_000);
});

async function restarted(sluice: Sluice, env: Record<string, string>): Promise<Sluice> {
  await sluice.stop();
  return sluice.restart(env);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50);
}

async function storeOf(space: string): Promise<string> {
  return (await list(a)).get(space)?.store?.name as string;
}

function otherOf(name: string): string {
  return name === hostOf(first) ? hostOf(second) : hostOf(first);
}

/** @param killAfter milliseconds; absent: it is ended when the space has arrived */
async function move(
  space: string,
  target: string,
  killAfter?: number,
  env = envOf(first, second),
): Promise<{ readonly status: number | null | 'arrived'; readonly stdout: string; readonly stderr: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-move-'));
  const child = spawn(
    process.execPath,
    [...programArgs('cli/move-space.ts'), `${project}/${space}`, target],
    {
      cwd: join(import.meta.dirname, '../..'),
      env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), DATA_DIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const output = { stdout: '', stderr: '' };
  let arrived = false;
  child.stderr.on('data', (text) => {
    output.stderr += text;
  });
  child.stdout.on('data', (text) => {
    output.stdout += text;
    if (!output.stdout.includes('is in the other store')) return;
    // it would wait for minutes before it cleans up
    arrived = true;
    child.kill('SIGKILL');
  });
  if (killAfter !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfter);
  const status = await new Promise<number | null>((resolve) => child.on('exit', resolve));
  await removeData({ dataDir: folder } as Sluice);
  return { status: arrived ? 'arrived' : status, ...output };
}

/** Insert, update and delete records of a space through both processes, and know what has to be there. */
class Writers {
  readonly #space: string;
  /** Null: nobody knows. */
  readonly #known = new Map<string, number | null>();
  readonly #refused = new Map<string, number>();
  #running: Promise<void>[] = [];
  #stopped = false;

  constructor(space: string) {
    this.#space = space;
  }

  async begin(): Promise<void> {
    const { body } = await ask(a, this.#space);
    for (const { id, n } of body as { id: string; n: number }[]) this.#known.set(id, n);
    this.#running = Array.from({ length: 6 }, (_, index) => this.#write(index % 2 === 0 ? a : b, index));
    await sleep(300);
  }

  async end(t: Tap): Promise<void> {
    await sleep(500);
    this.#stopped = true;
    await Promise.all(this.#running);
    for (const on of [a, b]) {
      const { body } = await ask(on, this.#space);
      const found = new Map((body as { id: string; n: number }[]).map(({ id, n }) => [id, n]));
      const wrong = [...this.#known].filter(([id, n]) => n !== null && found.get(id) !== n);
      t.strictSame(wrong, [], 'everything that was acknowledged is there');
      const names = (body as { name: string }[]).map(({ name }) => name);
      t.equal(new Set(names).size, names.length, 'each once');
    }
    t.comment(`${this.#known.size} records, refused: ${JSON.stringify([...this.#refused])}`);
  }

  async #write(on: Sluice, index: number): Promise<void> {
    const own: string[] = [];
    for (let n = 0; !this.#stopped; n++) {
      const id = own[n % Math.max(1, own.length)];
      if (n % 3 === 0 || id === undefined) {
        const answer = await insertOne(on, this.#space, `w${index}-${Math.random()}`, n);
        if (answer.status === 200) {
          own.push(answer.body.id);
          this.#known.set(answer.body.id, n);
        } else this.#refuse(answer);
      } else if (n % 3 === 1) {
        const answer = await ask(on, this.#space, { path: `/update-by-id?id=${id}`, body: { n } });
        this.#known.set(id, answer.status === 200 ? n : null);
        if (answer.status !== 200) this.#refuse(answer);
      } else {
        own.splice(own.indexOf(id), 1);
        this.#known.set(id, null);
        const answer = await ask(on, this.#space, { path: `?id=${id}`, method: 'DELETE' });
        if (answer.status === 200) this.#known.delete(id);
        else this.#refuse(answer);
      }
    }
  }

  #refuse({ status, body }: Answer): void {
    const key = `${status} ${(body as { code?: string }).code}`;
    this.#refused.set(key, (this.#refused.get(key) ?? 0) + 1);
    if (status !== 503 && (body as { code?: string }).code !== 'outcome_unknown')
      throw new Error(JSON.stringify(body));
  }
}

type Tap = Pick<typeof t, 'strictSame' | 'equal' | 'comment'>;
