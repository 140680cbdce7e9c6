/** What an operator of ClickHouse does wrong, and what a server does wrong, on a real one. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openAddress } from '../services/clickhouse-address.ts';
import { driveEverything } from '../services/drive-everything.ts';
import { openQueryHarness } from '../services/query-harness.ts';
import { type Answer, call, fieldsOf, structureOf } from '../services/record-client.ts';
import { mountSmallDisk } from '../services/small-disk.ts';
import { type ClickhouseProcess, startClickhouse } from '../services/start-clickhouse.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const password = 'hunter2-of-the-operator';
let server = await startClickhouse();
t.teardown(() => server.close());

interface Account {
  readonly grants: readonly string[];
  /** XML of its profile, and of its quota. */
  readonly profile?: string;
  readonly quota?: string;
}
const accounts = new Map<string, Account>();

/** The server reads accounts when it starts. */
async function setAccount(user: string, account: Account): Promise<string> {
  accounts.set(user, account);
  const all = [...accounts];
  const each = (xml: (name: string, account: Account) => string): string =>
    all.map(([name, one]) => `<${name}>${xml(name, one)}</${name}>`).join('');
  server = await server.restart({
    access: {
      profiles: each((_, { profile = '' }) => profile),
      quotas: each((_, { quota = '' }) => quota && `<interval><duration>3600</duration>${quota}</interval>`),
      users: each(
        (name, { grants }) => `<password>${passwords.get(name) ?? password}</password>
          <networks><ip>127.0.0.1</ip></networks><profile>${name}</profile><quota>${name}</quota>
          <grants>${grants.map((grant) => `<query>GRANT ${grant}</query>`).join('')}</grants>`,
      ),
    },
  });
  return user;
}
/** Where it is not the usual one. */
const passwords = new Map<string, string>();

async function sql(text: string, on: ClickhouseProcess = server): Promise<string> {
  const answer = await fetch(on.url, { method: 'POST', body: text });
  const said = await answer.text();
  if (!answer.ok) throw new Error(said);
  return said;
}

const env = (user: string, more: Record<string, string> = {}): Record<string, string> => ({
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_USER: user,
  CLICKHOUSE_PASSWORD: password,
  ...more,
});

/** A start that is to fail: what it says, and nothing else. */
async function refusalOf(t: Test, more: Record<string, string>): Promise<string> {
  const DATA_DIR = await temporaryFolder(t);
  const { status, stderr, stdout } = await runToEnd('query/main.ts', [], { PORT: '0', DATA_DIR, ...more });
  t.match({ status, stdout }, { status: 1, stdout: '' });
  t.notMatch(stderr, password);
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('sluice: '))
    .join('\n');
}

let users = 0;
let asked = 0;
/** @param profile XML */
function makeUser(grants: readonly string[], profile = ''): Promise<string> {
  return setAccount(`user_${++users}`, { grants, profile });
}

/** The statements of docs/clickhouse.md, for a database. */
async function documentedGrants(database: string): Promise<readonly string[]> {
  const page = await readFile(join(import.meta.dirname, '../../docs/clickhouse.md'), 'utf8');
  const [, text = ''] = /## Grants[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];
  return [...text.matchAll(/^GRANT (.*) TO sluice;$/gm)].map(([, grant = '']) =>
    grant.replaceAll('sluice', database),
  );
}

const fields = fieldsOf('name TEXT unique, n NUMBER');
function ask(
  on: Sluice,
  more: { path?: string; body?: unknown; method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { path = '', ...rest } = more;
  return call({ ...on, path: `/p/s${path}`, structure: structureOf('p', 's', fields), ...rest });
}
const insertOne = (on: Sluice, name: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(on, { path: '/_single_', body: { name, n: 1 }, headers });
const names = async (on: Sluice): Promise<readonly string[]> =>
  ((await ask(on)).body as { name: string }[]).map(({ name }) => name).sort();

t.test('a start that can’t succeed says in one sentence why', async (t) => {
  const all = ['ALL ON *.*'];
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [env('nobody'), /it refuses the user nobody with this password/],
    [
      { ...env(await makeUser(all)), CLICKHOUSE_PASSWORD: 'another' },
      /it refuses the user user_\d+ with this password/,
    ],
    [env(await makeUser(all, '<readonly>1</readonly>')), /the user user_\d+ may not write .* readonly/],
    [env(await makeUser(all, '<readonly>2</readonly>')), /the user user_\d+ may not write .* readonly/],
    [
      env(await makeUser(all, '<constraints><max_query_size><const/></max_query_size></constraints>')),
      /forbids a setting that Sluice needs: .*max_query_size/,
    ],
    [
      env(
        await makeUser(
          all,
          '<constraints><max_execution_time><max>5</max></max_execution_time></constraints>',
        ),
      ),
      /forbids a setting that Sluice needs: .*max_execution_time/,
    ],
    [env(await makeUser([])), /lacks a right: GRANT [A-Z ]+.* TO user_\d+/],
    [{ CLICKHOUSE_URL: 'http://127.0.0.1:1' }, /can't be used: connect ECONNREFUSED/],
  ];
  for (const [more, sentence] of cases) t.match(await refusalOf(t, more), sentence);

  const old = await openAddress(server.url);
  t.teardown(() => old.close());
  old.fault({
    match: 'version',
    action: { kind: 'status', status: 200, body: '{"version":"24.8.14.39"}\n' },
  });
  const refused = await refusalOf(t, { ...env('default'), CLICKHOUSE_URL: old.url, CLICKHOUSE_PASSWORD: '' });
  t.match(refused, /it is ClickHouse 24\.8\.14\.39, and Sluice needs \d+\.\d+ or later/);
});

t.test('the documented grants are enough, and each is needed', async (t) => {
  const grants = await documentedGrants('granted');
  t.ok(grants.length > 2);
  const user = await makeUser(await documentedGrants('sluice'));
  const harness = await openQueryHarness({
    config: { allowClearAllSpaces: true },
    singleWriter: false,
    freshness: { freshFor: 50, staleAfter: 200, outdatedAfter: 0 },
    open: async () => openTestClickhouse({ url: server.url, user, password }),
  });
  t.teardown(() => harness.close());
  t.ok((await driveEverything(harness)).size > 20, 'every operation');

  const single = grants.flatMap((grant) => {
    const [, rights = '', on = ''] = /^(.*) ON (\S+)$/.exec(grant) ?? [];
    return on.startsWith('granted.') ? rights.split(', ').map((right) => `${right} ON ${on}`) : [];
  });
  const others = grants.filter((grant) => !grant.includes(' ON granted.'));
  const own = await makeUser(grants);
  // a database that is there needs no CREATE DATABASE, and one that is not is made by it
  for (const right of single.filter((one) => /^CREATE/.test(one))) {
    await setAccount(own, { grants: single.filter((one) => one !== right).concat(others) });
    const said = await refusalOf(t, env(own, { CLICKHOUSE_DATABASE: 'granted' }));
    t.match(said, /lacks a right: GRANT CREATE (DATABASE|TABLE)/, right);
    await sql('DROP DATABASE IF EXISTS granted');
  }
  await setAccount(own, { grants });
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env(own, { CLICKHOUSE_DATABASE: 'granted' }),
  });
  const { id } = (await insertOne(sluice, 'first')).body as { id: string };
  const tries: readonly (readonly [string, () => Promise<Answer>])[] = [
    ['SELECT', () => ask(sluice, { path: '?n=1' })],
    ['INSERT', () => insertOne(sluice, 'second')],
    ['ALTER', () => ask(sluice, { path: `/update-by-id?id=${id}`, body: { n: 1 } })],
    ['ALTER', () => ask(sluice, { path: `?id=${id}`, method: 'DELETE' })],
  ];
  for (const [right, run] of tries) {
    await setAccount(own, { grants: single.filter((one) => one !== `${right} ON granted.*`).concat(others) });
    t.match(await run(), { status: 503, body: { code: 'not_ready' } }, right);
    await until(async () => sluice.stderr().includes(`to have the grant`)); // the log says why
  }
  passwords.set(own, 'changed');
  await setAccount(own, { grants });
  t.equal((await ask(sluice, { path: '?n=2' })).status, 503);
  passwords.delete(own);
  await setAccount(own, { grants });
  t.strictSame(await names(sluice), ['first'], 'nothing was half stored');
  t.notMatch(sluice.stderr(), password);
});

t.test('a server that can do no more is a 503, and what it refused is not there', async (t) => {
  const all = ['ALL ON *.*'];
  const user = await makeUser(all);
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env(user, { CLICKHOUSE_DATABASE: 'refused' }),
  });
  t.equal((await insertOne(sluice, 'first')).status, 200);
  const refuses = async (what: string, begin: () => Promise<unknown>, end: () => Promise<unknown>) => {
    await begin();
    const finds = Array.from({ length: 20 }, () => ask(sluice, { path: `?n=${++asked}` }));
    const answers = await Promise.all([insertOne(sluice, what), ...finds]);
    await end();
    const refused = answers.filter(({ status }) => status !== 200);
    t.ok(refused.length > 0, what);
    for (const { status, body, headers } of refused) {
      t.equal(status, 503, `${what}: ${JSON.stringify(body)}`);
      t.ok(Number(headers.get('retry-after')) > 0);
    }
    await until(async () => (await insertOne(sluice, `after ${what}`)).status === 200);
    if (answers[0]?.status !== 200) t.notOk((await names(sluice)).includes(what), 'it is not there');
  };
  const well = () => setAccount(user, { grants: all });
  const limited = (account: Partial<Account>) => () => setAccount(user, { grants: all, ...account });
  await refuses('quota', limited({ quota: '<queries>1</queries>' }), well);
  const memory = '<max_memory_usage_for_user>1000</max_memory_usage_for_user>';
  await refuses('memory of the user', limited({ profile: memory }), well);
  const queries = '<max_concurrent_queries_for_user>1</max_concurrent_queries_for_user>';
  const long = 'SELECT sleepEachRow(1) FROM numbers(600) SETTINGS max_block_size = 1';
  await refuses(
    'one query at once',
    async () => {
      await limited({ profile: queries })();
      // a query of the same user has the one place; it is refused itself while the service has it
      const running = `SELECT count() FROM system.processes WHERE user = '${user}' AND query LIKE '%sleepEachRow%'`;
      await until(async () => {
        const url = `${server.url}/?${new URLSearchParams({ user, password })}`;
        fetch(url, { method: 'POST', body: long }).catch(() => {});
        await sleep(50);
        return Number(await sql(running)) === 1;
      });
    },
    // it ends with the server, which reads accounts when it starts
    well,
  );
  await refuses(
    'too many parts',
    () =>
      sql('ALTER TABLE refused.records MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1'),
    () => sql('ALTER TABLE refused.records RESET SETTING parts_to_throw_insert, parts_to_delay_insert'),
  );
});

t.test('a full disk of the server is a 503', async (t) => {
  const disk = mountSmallDisk(t, 600);
  if (disk === null) return t.comment('NOT TESTED: a full disk, as only root may mount one');
  const own = await startClickhouse({ dataDir: disk.folder });
  t.teardown(() => own.kill());
  const sluice = await sluiceFor(t, { script: 'query/main.ts', env: { CLICKHOUSE_URL: own.url } });
  t.equal((await insertOne(sluice, 'before')).status, 200);
  disk.fill(4096);
  const full = await insertOne(sluice, 'full');
  t.match(full, { status: 503, body: { code: 'not_ready' } });
  t.equal((await ask(sluice, { path: '?n=1' })).status, 200, 'reads go on');
  disk.empty();
  await until(async () => (await insertOne(sluice, 'after')).status === 200);
  t.strictSame(await names(sluice), ['after', 'before']);
});

t.test('an insert that a killed server had is known by its key', async (t) => {
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env('default', { CLICKHOUSE_PASSWORD: '', CLICKHOUSE_DATABASE: 'killed' }),
  });
  t.equal((await insertOne(sluice, 'first')).status, 200);
  for (let round = 0; round < 3; round++) {
    const key = { 'idempotency-key': `round-${round}` };
    await sql('ALTER TABLE killed.records ADD COLUMN IF NOT EXISTS slow UInt8 MATERIALIZED sleep(0.3)');
    const lost = insertOne(sluice, `round ${round}`, key);
    await sleep(100 + 120 * round);
    server = await server.restart();
    const answer = await lost;
    // it was away already
    if (answer.status === 503) t.equal(answer.body.code, 'not_ready');
    else if (answer.status !== 200)
      t.match(answer, { status: 500, body: { code: 'outcome_unknown', message: /Idempotency-Key/ } });
    if (answer.status === 500) t.equal(answer.headers.get('retry-after'), null, 'not without a thought');
    await sql('ALTER TABLE killed.records DROP COLUMN slow');
    let again: Answer | undefined;
    await until(async () => {
      again = await insertOne(sluice, `round ${round}`, key);
      return again.status === 200;
    });
    t.equal((await names(sluice)).filter((name) => name === `round ${round}`).length, 1, 'it is there once');
  }
});

t.test('a write that the operator or a time limit of the server ends', async (t) => {
  const limit = '<max_execution_time>0.02</max_execution_time>';
  for (const [what, profile, kill] of [
    [
      'killed',
      '',
      `KILL QUERY WHERE query LIKE 'INSERT INTO ended.records%' OR query LIKE 'UPDATE ended.%' ASYNC`,
    ],
    ['late', limit, null],
  ] as const) {
    const user = await makeUser(['ALL ON *.*']);
    const sluice = await sluiceFor(t, {
      script: 'query/main.ts',
      env: env(user, { CLICKHOUSE_DATABASE: 'ended' }),
    });
    const { id } = (await insertOne(sluice, `${what} first`)).body as { id: string };
    await setAccount(user, { grants: ['ALL ON *.*'], profile });
    await until(async () => (await ask(sluice, { path: '?n=77' })).status === 200 || profile !== '');
    // a fast server would be done before the kill comes
    const slow = 'ALTER TABLE ended.records ADD COLUMN slow UInt8 MATERIALIZED sleep(0.02)';
    if (kill !== null) await sql(slow);
    const answers = new Map<string, Answer>();
    const updates: Answer[] = [];
    let cut: Answer[] = [];
    for (let at = 0; at < 30 || (at < 600 && cut.length === 0); at++) {
      const name = `${what} ${at}`;
      const writes = Promise.all([
        insertOne(sluice, name),
        ask(sluice, { path: `/update-by-id?id=${id}`, body: { n: 100 + at } }),
      ]);
      await sleep(Math.random() * 25);
      if (kill !== null) await sql(kill);
      const [inserted, updated] = await writes;
      answers.set(name, inserted);
      updates.push(updated);
      cut = [...answers.values(), ...updates].filter(({ status }) => status !== 200);
    }
    if (kill !== null) await sql('ALTER TABLE ended.records DROP COLUMN slow');
    await setAccount(user, { grants: ['ALL ON *.*'] });
    await until(async () => (await ask(sluice, { path: '?n=78' })).status === 200);
    const found = await names(sluice);
    t.ok(cut.length > 0, `${what}: ${cut.length} were ended`);
    for (const { status, body, headers } of cut) {
      if (status === 503) t.ok(Number(headers.get('retry-after')) > 0);
      else t.match({ status, body }, { status: 500, body: { code: 'outcome_unknown' } });
    }
    for (const [name, { status }] of answers) {
      const times = found.filter((each) => each === name).length;
      if (status === 200) t.equal(times, 1, `${name} is there`);
      else if (status === 503) t.equal(times, 0, `${name}: nothing was done`);
      else t.ok(times <= 1, `${name} is there once at most`);
    }
    const [last] = (await ask(sluice, { path: `?id=${id}` })).body as { n: number }[];
    const lastDone = updates.findLastIndex(({ status }) => status === 200);
    const unknown = updates.map(({ status }, at) => (status === 500 ? 100 + at : null));
    const possible = [lastDone < 0 ? 1 : 100 + lastDone, ...unknown.slice(lastDone + 1)];
    t.ok(possible.includes(last?.n as number), `${what}: ${last?.n} is one of ${possible.join()}`);
    await sluice.stop();
  }
});

t.test('a server that stands still is a 503, and goes on', async (t) => {
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env('default', { CLICKHOUSE_PASSWORD: '', CLICKHOUSE_DATABASE: 'still', READ_TIMEOUT_MS: '5000' }),
  });
  const { id } = (await insertOne(sluice, 'first')).body as { id: string };
  process.kill(server.pid, 'SIGSTOP');
  const answers = await Promise.all([
    ask(sluice, { path: '?n=1' }),
    ask(sluice),
    ask(sluice, { path: '/_single_?name=first' }),
    ask(sluice, { path: '/_count_?n=1' }),
    ask(sluice, { path: '/_aggregate_', body: { values: { records: 'count' } } }),
    ask(sluice, { path: '/search?searchText=fir&searchableFields=name' }),
  ]);
  for (const { status, body } of answers) t.match({ status, body }, { status: 503 });
  const writes = await Promise.all([
    insertOne(sluice, 'stopped'),
    ask(sluice, { path: `/update-by-id?id=${id}`, body: { n: 2 } }),
  ]);
  for (const { status, body } of writes) t.ok(status === 503 || body.code === 'outcome_unknown', `${status}`);
  process.kill(server.pid, 'SIGCONT');
  await until(async () => (await insertOne(sluice, 'after')).status === 200);
  const found = await names(sluice);
  t.equal(new Set(found).size, found.length, 'each is there once');
  t.ok(found.includes('first') && found.includes('after'));
});

t.test('a server that closes idle connections at once, and one that compresses', async (t) => {
  const own = await startClickhouse({
    config: '<keep_alive_timeout>0</keep_alive_timeout>',
    access: {
      profiles: '<zip><enable_http_compression>1</enable_http_compression></zip>',
      users: `<zip>
      <profile>zip</profile><quota>default</quota><password>${password}</password>
      <networks><ip>127.0.0.1</ip></networks></zip>`,
    },
  });
  t.teardown(() => own.close());
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env('zip', { CLICKHOUSE_URL: own.url }),
  });
  for (let round = 0; round < 30; round++) {
    t.equal((await insertOne(sluice, `r${round}`)).status, 200);
    t.equal((await ask(sluice, { path: `?name=r${round}` })).body.length, 1);
  }
});

t.test('the files of the compose deployment are taken by a real server', async (t) => {
  const folder = join(import.meta.dirname, '../../deploy/compose/clickhouse');
  const inner = async (name: string): Promise<string> =>
    (await readFile(join(folder, name), 'utf8')).replace(/<\/?clickhouse>/g, '');
  const users = /<users>([\s\S]*)<\/users>/.exec(await inner('users.xml'))?.[1] ?? '';
  const hash = await sql(`SELECT lower(hex(SHA256('${password}')))`);
  const own = await startClickhouse({
    // the launcher of the test is the user that the file removes, and chooses the address
    config: (await inner('config.xml')).replace(
      /<listen_host>.*?<\/listen_host>|<(?:mysql|postgresql)_port remove="1"\/>/g,
      '',
    ),
    access: { users: users.replace('<default remove="1"/>', '') },
    env: { SLUICE_PASSWORD_SHA256: hash.trim() },
  });
  t.teardown(() => own.close());
  const settings = await sql(
    `SELECT value FROM system.server_settings WHERE name = 'max_concurrent_queries'`,
    own,
  );
  t.equal(settings.trim(), '400');
  const sluice = await sluiceFor(t, {
    script: 'query/main.ts',
    env: env('sluice', { CLICKHOUSE_URL: own.url }),
  });
  t.equal((await insertOne(sluice, 'first')).status, 200);
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await condition()); ) {
    if (performance.now() > end) throw new Error('it did not become true within a minute');
    await sleep(50);
  }
}
