/** kill -9 while files are put in the trash, restored, emptied and expire: a file with its row is left, or nothing. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { randomFrom } from '../services/random-from.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { killAll, removeData, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { seed } from '../services/test-size.ts';

/** At random times. KILLS=50 tries more of them. */
const kills = Number(process.env.KILLS ?? 6);
const account = { user: 'sluice', password: 'a-password-of-a-test' };
const random = randomFrom(seed);
const draw = (limit: number): number => Math.floor(random() * limit);

/** Deletions are kept, and nothing in the trash is due. */
const keeps = { TRASH_DAYS: '7', JANITOR_GRACE_MS: '1000' };
/** What is in the trash is emptied each second. */
const empties = { TRASH_DAYS: '0', JANITOR_GRACE_MS: '1000', JANITOR_INTERVAL_MS: '1000' };

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask({ baseUrl, token }: Sluice, method: string, path: string, body?: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${baseUrl}/_f_/demo${path}`, { method, headers, ...(body ? { body } : {}) });
  return { status: answer.status, text: await answer.text() };
}

const nameIn = ({ text }: Answer): string => (JSON.parse(text) as { name: string }).name;

async function listed(server: Sluice, query = ''): Promise<string[]> {
  const names: string[] = [];
  let after = '';
  do {
    const { text } = await ask(server, 'GET', `?limit=200${query}${after}`);
    const { files = [], next } = JSON.parse(text) as { files?: { name: string }[]; next: string | null };
    names.push(...files.map(({ name }) => name));
    after = next ? `&after=${encodeURIComponent(next)}` : '';
  } while (after !== '');
  return names.sort();
}

/** Runs the janitor when all that is in the trash is due. */
async function clean(t: Test, env: Record<string, string>): Promise<void> {
  // what was trashed or has expired a moment ago is due after the grace
  await sleep(2100);
  const { stdout, stderr } = await runToEnd('cli/janitor.ts', [], { ...env, ...empties });
  t.match(JSON.parse(stdout || '{}'), { failures: 0 }, stderr);
}

/** What clients know of their files. */
interface Known {
  /** Its bytes. */
  readonly live: Map<string, string>;
  readonly trashed: Map<string, string>;
  /** They expire in a second. */
  readonly expiring: Set<string>;
  /** The answer to a deletion or a restore did not come. */
  readonly unsure: Map<string, string>;
  readonly odd: string[];
  readonly counts: { deleted: number; restored: number; unsure: number };
}

function oneOf(files: ReadonlyMap<string, string>): [string, string] | undefined {
  return [...files][draw(files.size)];
}

/** Uploads, deletes and restores until the server is gone. @param isEmptied the trash may be emptied at any time */
async function workUntilGone(server: Sluice, known: Known, isEmptied: boolean): Promise<void> {
  const { live, trashed, expiring, unsure, odd, counts } = known;
  const move = async (
    from: Map<string, string>,
    to: Map<string, string> | null,
    request: (name: string) => Promise<Answer>,
    expected: number,
  ): Promise<void> => {
    const [name, content] = oneOf(from) ?? [];
    if (name === undefined || content === undefined) return;
    from.delete(name);
    unsure.set(name, content);
    const { status, text } = await request(name);
    unsure.delete(name);
    if (status === expected) {
      to?.set(name, content);
      if (to === live) counts.restored++;
      else counts.deleted++;
    } else if (status !== 404 || !isEmptied || from !== trashed) odd.push(`${name}: ${status} ${text}`);
  };
  try {
    for (;;) {
      const kind = draw(8);
      const content = `${draw(1e9)}`;
      if (kind < 3) {
        const stored = await ask(server, 'PUT', `/a.txt${kind === 0 ? '?expiresIn=1' : ''}`, content);
        if (stored.status !== 200) odd.push(stored.text);
        else if (kind === 0) expiring.add(nameIn(stored));
        else live.set(nameIn(stored), content);
      } else if (kind < 5) {
        await move(live, isEmptied ? null : trashed, (name) => ask(server, 'DELETE', `/${name}`), 204);
      } else if (kind < 7) await move(trashed, live, (name) => ask(server, 'POST', `/${name}/restore`), 200);
      else await move(trashed, null, (name) => ask(server, 'DELETE', `/${name}?trash=false`), 204);
    }
  } catch {
    // the server is gone
  }
}

/** After a restart: what became of requests whose answers did not come. */
async function askAgain(t: Test, server: Sluice, { live, trashed, unsure, counts }: Known): Promise<void> {
  counts.unsure += unsure.size;
  for (const [name, content] of unsure) {
    unsure.delete(name);
    const { status, text } = await ask(server, 'GET', `/${name}`);
    if (status === 200 && text === content) live.set(name, content);
    else if (status !== 404) t.fail(`${name}: ${status} ${text}`);
    else if ((await ask(server, 'POST', `/${name}/restore`)).status === 200) live.set(name, content);
    // the object may be deleted, and the row be left
    else t.match((await ask(server, 'DELETE', `/${name}?trash=false`)).status, /^(?:204|404)$/);
    trashed.delete(name);
  }
}

t.test('at random times, on the file system', { timeout: 1_800_000 }, async (t) => {
  const known: Known = {
    live: new Map(),
    trashed: new Map(),
    expiring: new Set(),
    unsure: new Map(),
    odd: [],
    counts: { deleted: 0, restored: 0, unsure: 0 },
  };
  let server = await startSluice({ env: keeps });
  t.teardown(() => killAll([server]));
  for (let kill = 0; kill < kills; kill++) {
    const isEmptied = kill % 3 === 2;
    await askAgain(t, server, known);
    const clients = [1, 2, 3].map(() => workUntilGone(server, known, isEmptied));
    await sleep(800 + draw(1500));
    await server.kill();
    await Promise.all(clients);
    server = await server.restart((kill + 1) % 3 === 2 ? empties : keeps);
  }
  await askAgain(t, server, known);
  const { live, counts, expiring } = known;
  t.comment(`${kills} kills, ${JSON.stringify(counts)}, ${live.size} files, ${expiring.size} expired`);
  t.strictSame(known.odd, [], 'answers of a server in good health');
  for (const [name, content] of live) {
    const { status, text } = await ask(server, 'GET', `/${name}`);
    if (status !== 200 || text !== content) t.fail(`${name}: ${status} ${text}`);
  }
  await server.stop();
  await clean(t, { DATA_DIR: server.dataDir });
  server = await server.restart(keeps);
  const names = await listed(server);
  for (const name of live.keys()) if (!names.includes(name)) t.fail(`${name} is not listed`);
  for (const name of expiring) if (names.includes(name)) t.fail(`${name} has not expired`);
  t.strictSame(await listed(server, '&trash=true'), [], 'the trash is empty');
  const found = await readdir(join(server.dataDir, 'files', 'objects'), {
    recursive: true,
    withFileTypes: true,
  });
  const objects = found.filter((entry) => entry.isFile()).map(({ name }) => name);
  t.strictSame(objects.sort(), names, 'an object for each file, and nothing else');
  await server.stop();
  await removeData(server);
});

t.test('at each step, between gateways', { timeout: 600_000 }, async (t) => {
  const clickhouse = await startFaultyClickhouse(account);
  const stub = await startS3Stub({ md5Etags: true });
  const stores = {
    ...stubSettings(stub),
    CLICKHOUSE_URL: clickhouse.url,
    CLICKHOUSE_USER: account.user,
    CLICKHOUSE_PASSWORD: account.password,
  };
  const start = (env: Record<string, string>) =>
    startSluice({ script: 'gateway/main.ts', env: { ...stores, ...env } });
  const one = await start(keeps);
  const servers = [one];
  t.teardown(async () => {
    await killAll(servers);
    await stub.close();
    await clickhouse.close();
  });
  const stored = await Promise.all(
    ['deleted', 'restored', 'emptied'].map((content) => ask(one, 'PUT', '/a.txt', content)),
  );
  const [deleted, restored, emptied] = stored.map(nameIn) as [string, string, string];
  for (const name of [restored, emptied]) t.equal((await ask(one, 'DELETE', `/${name}`)).status, 204);

  // the list is changed, and the row is not
  clickhouse.fault({ match: /UPDATE .*cloud_files/, times: 2, action: { kind: 'silent' } });
  void ask(one, 'DELETE', `/${deleted}`).catch(() => {});
  void ask(one, 'POST', `/${restored}/restore`).catch(() => {});
  while ((clickhouse.struck.get('silent') ?? 0) < 2) await sleep(20);
  await one.kill();
  clickhouse.clear();
  const two = await start(keeps);
  servers.push(two);
  t.match((await ask(two, 'DELETE', `/${deleted}`)).status, /^(?:204|404)$/, 'a deletion is repeated');
  t.equal((await ask(two, 'GET', `/${deleted}`)).status, 404);
  t.match((await ask(two, 'POST', `/${restored}/restore`)).status, /^(?:200|404)$/, 'a restore, too');
  t.equal((await ask(two, 'GET', `/${restored}`)).text, 'restored');
  t.strictSame(await listed(two), [restored]);
  t.strictSame(await listed(two, '&trash=true'), [deleted, emptied].sort());

  // the object is deleted, and the row is not
  await sleep(2100);
  const hung = stub.fault({ operation: 'DeleteObjects', action: { kind: 'hang', stage: 'after-work' } });
  const three = await start(empties);
  servers.push(three);
  while (hung.hits === 0) await sleep(20);
  await three.kill();
  stub.clearFaults();
  t.match((await ask(two, 'POST', `/${emptied}/restore`)).status, /^(?:404|503)$/, 'not without its bytes');
  t.equal((await ask(two, 'GET', `/${emptied}`)).status, 404);
  // a running gateway would do it, by its own settings
  await clean(t, { ...stores, DATA_DIR: three.dataDir });
  t.strictSame(await listed(two), [restored]);
  t.strictSame(await listed(two, '&trash=true'), []);
  const keys = stub.objects().map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  t.strictSame(keys, [restored], 'an object for each file, and nothing else');
  await two.stop();
});
