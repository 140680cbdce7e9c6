/**
 * Two query processes on one ClickHouse server. What they do not do for each other yet: values of unique fields are
 * reserved in one process, so two of them may store one value at the same moment.
 */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { type Answer, call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { acceptanceToken, killAll, runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const password = 'hunter2-and-more';
const server = await startFaultyClickhouse({ user: 'sluice', password });
const served = {
  CLICKHOUSE_URL: server.url,
  CLICKHOUSE_USER: 'sluice',
  CLICKHOUSE_PASSWORD: password,
  CLICKHOUSE_DATABASE: 'acceptance',
};
const startQuery = () => startSluice({ script: 'query/main.ts', env: { ...served, LOG_LEVEL: 'trace' } });
// at once, on a server without a database: both migrate, and both make the first account and its token
const [a, b] = await Promise.all([startQuery(), startQuery()]);
const both = [a, b] as const;
t.teardown(async () => {
  await killAll(both);
  await server.close();
});

const project = 'shared';
interface Request {
  readonly space: string;
  readonly path?: string;
  readonly structure?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
function ask(on: Sluice, { space, path = '', ...more }: Request): Promise<Answer> {
  return call({ ...on, path: `/${project}/${space}${path}`, ...more });
}
const preStored = { 'use-pre-stored-structure': 'true' };
const texts = (...names: string[]) => names.map((name) => ({ name, type: 'TEXT' }));
const rounds = Array.from({ length: 8 }, (_, round) => round);

t.test('the token made by either is good in both, for one account', async (t) => {
  const structure = structureOf(project, 'first', texts('text'));
  t.equal((await ask(a, { space: 'first', structure, body: [{ text: 'by a' }] })).status, 200);
  t.match((await ask(b, { space: 'first', structure })).body, [{ text: 'by a' }]);
  t.match((await ask(b, { space: 'first', headers: preStored })).body, [{ text: 'by a' }]);
});

t.test('a log line says what does not hold between them without Redis', async (t) => {
  for (const sluice of both) t.match(sluice.stderr(), /without REDIS_URL, values of unique fields/);
});

t.test('they do without the embedded engine', async (t) => {
  for (const { process, dataDir } of both) {
    t.notMatch(await readFile(`/proc/${process.pid}/maps`, 'utf8'), /chdb/);
    t.notOk(existsSync(join(dataDir, 'chdb')));
  }
});

t.test('a space that both make at once, each with its own structure, has the fields of both', async (t) => {
  for (const round of rounds) {
    const space = `made-${round}`;
    const insertOne = (on: Sluice, own: string) =>
      ask(on, {
        space,
        path: '/_single_',
        structure: structureOf(project, space, texts('common', own)),
        body: { common: own, [own]: `value of ${own}` },
      });
    const answers = await Promise.all([insertOne(a, 'alpha'), insertOne(b, 'beta')]);
    t.strictSame(
      answers.map(({ status }) => status),
      [200, 200],
      JSON.stringify(answers.map(({ body }) => body)),
    );
    for (const on of both) {
      const structure = structureOf(project, space, texts('common', 'alpha', 'beta'));
      const records = (await ask(on, { space, structure })).body as { common: string }[];
      records.sort((x, y) => (x.common < y.common ? -1 : 1));
      t.match(records, [
        { common: 'alpha', alpha: 'value of alpha', beta: null },
        { common: 'beta', alpha: null, beta: 'value of beta' },
      ]);
    }
  }
});

t.test('a field that both type differently has one type', async (t) => {
  // without Redis the second one waits for what the first may still write
  for (const round of rounds.slice(0, 2)) {
    const space = `typed-${round}`;
    const insertOne = (on: Sluice, type: string, value: unknown) =>
      ask(on, {
        space,
        path: '/_single_',
        structure: structureOf(project, space, [{ name: 'value', type }]),
        body: { value },
      });
    const answers = await Promise.all([insertOne(a, 'TEXT', 'one'), insertOne(b, 'ARRAY', [1])]);
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 400]);
    const loser = answers.find(({ status }) => status === 400);
    t.match(loser?.body, { code: 'structure_conflict', error: [/value/] });
    t.equal((await ask(a, { space, headers: preStored })).body.length, 1);
  }
});

t.test('initialData is stored once', async (t) => {
  for (const round of rounds) {
    const space = `begun-${round}`;
    const initialData = [{ text: 'one' }, { text: 'two' }];
    const structure = structureOf(project, space, texts('text'), { initialData });
    const answers = await Promise.all([...both, ...both].map((on) => ask(on, { space, structure })));
    for (const { body } of answers) t.match(body, initialData);
    for (const on of both) t.equal((await ask(on, { space, structure })).body.length, 2);
  }
});

t.test('what one acknowledges the other one reads', async (t) => {
  const space = 'fresh';
  const structure = structureOf(project, space, fieldsOf('n NUMBER'));
  for (let n = 0; n < 30; n++) {
    const [writer, reader] = n % 2 === 0 ? [a, b] : [b, a];
    t.equal((await ask(writer, { space, structure, path: '/_single_', body: { n } })).status, 200);
    t.match((await ask(reader, { space, structure, path: `/_single_?n=${n}` })).body, { n });
  }
  const written = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      ask(both[i % 2] as Sluice, { space, structure, body: [{ n: 1000 + i }, { n: 2000 + i }] }),
    ),
  );
  t.ok(written.every(({ status }) => status === 200));
  for (const on of both) t.equal((await ask(on, { space, structure })).body.length, 230);
});

t.test('updates of different fields of one record both stay', async (t) => {
  const space = 'updated';
  const structure = structureOf(project, space, texts('left', 'right', 'other'));
  const stored = Array.from({ length: 20 }, () => ({ left: 'old', right: 'old', other: 'same' }));
  const { body: records } = await ask(a, { space, structure, body: stored });
  const update = (on: Sluice, id: string, body: unknown) =>
    ask(on, { space, structure, path: `/update-by-id?id=${id}`, body });
  const answers = await Promise.all(
    (records as { id: string }[]).flatMap(({ id }, i) => [
      update(a, id, { left: `left ${i}` }),
      update(b, id, { right: `right ${i}` }),
    ]),
  );
  t.ok(answers.every(({ status }) => status === 200));
  for (const on of both) {
    const found = (await ask(on, { space, structure })).body as { updatedAt: string }[];
    t.match(
      found,
      stored.map((_, i) => ({ left: `left ${i}`, right: `right ${i}`, other: 'same' })),
    );
  }
});

t.test('a login token of one is good in the other, at once', async (t) => {
  const space = 'users';
  const structure = structureOf(project, space, fieldsOf('email TEXT unique, password TEXT hashed'));
  const user = { email: 'ada@x', password: 'correct horse battery' };
  await ask(a, { space, structure, path: '/_single_', body: user });
  const login = (on: Sluice) =>
    ask(on, {
      space: 'function',
      path: '/login',
      headers: { 'function-resources': `{"mustExistSpaceStructures":[${structure}]}` },
      body: user,
    });
  // both make the first signing key at once
  const logins = await Promise.all(both.map(login));
  for (const { status, body } of logins) {
    t.equal(status, 200);
    for (const on of both) {
      const owner = await ask(on, {
        space,
        structure,
        path: '/get-token-owner',
        headers: { token: body.token },
      });
      t.match(owner, { status: 200, body: { email: 'ada@x' } });
    }
  }
});

t.test('npm run token works on the server, from anywhere', async (t) => {
  const dataDir = await temporaryFolder(t);
  const run = (...args: string[]) => runToEnd('cli/token.ts', args, { ...served, DATA_DIR: dataDir });
  const list = await run('--list');
  t.equal(list.status, 0);
  t.equal(list.stdout.trim().split('\n').length, 1, 'both processes made one account with one token');
  const { stdout } = await run();
  const structure = structureOf(project, 'first', texts('text'));
  for (const { baseUrl } of both) {
    const answer = await call({ baseUrl, token: stdout.trim(), path: `/${project}/first`, structure });
    t.match(answer, { status: 200, body: [{ text: 'by a' }] }, 'of the same account');
  }
});

t.test('files of one gateway are served by another that shares its files', async (t) => {
  const dataDir = await temporaryFolder(t);
  const start = () => startSluice({ script: 'gateway/main.ts', env: served, dataDir });
  const gateways = await Promise.all([start(), start()]);
  const [one, other] = gateways;
  const form = new FormData();
  form.append('file', new Blob(['shared bytes']), 'shared.txt');
  const headers = { authorization: `Bearer ${one.token}` };
  const response = await fetch(`${one.baseUrl}/_f_/${project}/upload`, {
    method: 'POST',
    body: form,
    headers,
  });
  t.equal(response.status, 200);
  const { pathname } = new URL(((await response.json()) as { s3Link: string }).s3Link);
  t.equal(await (await fetch(other.baseUrl + pathname)).text(), 'shared bytes');
  t.strictSame(await Promise.all(gateways.map((gateway) => gateway.stop())), [0, 0]);
});

t.test('starts that can not succeed say why in one sentence, without the password', async (t) => {
  const cases: [string, Record<string, string>, RegExp][] = [
    [
      'no server',
      { ...served, CLICKHOUSE_URL: 'http://127.0.0.1:1' },
      /127\.0\.0\.1:1 can't be used: .*ECONNREFUSED/,
    ],
    [
      'a wrong password',
      { ...served, CLICKHOUSE_PASSWORD: 'wrong-secret' },
      /can't be used: it refuses the user \w+ with this password/,
    ],
    [
      'a password in the address',
      { ...served, CLICKHOUSE_URL: `http://x:${password}@127.0.0.1:1` },
      /CLICKHOUSE_URL should hold no user name/,
    ],
  ];
  for (const [name, env, expected] of cases) {
    const dataDir = await temporaryFolder(t);
    const { status, stderr } = await runToEnd('query/main.ts', [], { PORT: '0', DATA_DIR: dataDir, ...env });
    t.equal(status, 1, name);
    t.match(stderr, expected, name);
    const said = stderr
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
    t.equal(said.length, 1, stderr);
    t.notMatch(stderr, /hunter2|wrong-secret/);
  }
});

t.test('connections that break', async (t) => {
  const space = 'broken';
  const structure = structureOf(project, space, fieldsOf('n NUMBER'));
  const insert = (n: number) => ask(a, { space, structure, path: '/_single_', body: { n } });
  const found = async (n: number) => (await ask(b, { space, structure, path: `?n=${n}` })).body.length;
  const into = (table: string) => ({ match: `^INSERT INTO \\W?acceptance\\W+${table}`, times: 1 });

  // behind the row that makes the space, and behind the row of a record: both are found
  server.fault({ ...into('record_spaces'), action: { kind: 'cut-after' } });
  server.fault({ ...into('records\\b'), action: { kind: 'cut-after' } });
  t.match(await insert(1), { status: 200, body: { n: 1 } });
  t.equal(await found(1), 1);
  // before it: nobody knows, and nothing is done twice
  server.fault({ ...into('records\\b'), action: { kind: 'cut-before' } });
  t.match(await insert(2), { status: 500, body: { code: 'outcome_unknown' } });
  t.equal(await found(2), 0);
  // a read
  server.fault({ match: '^SELECT .*\\.records ', action: { kind: 'cut-before' } });
  t.match(await ask(a, { space, structure }), { status: 503, body: { code: 'not_ready' } });
  t.equal((await ask(a, { space, structure })).body.length, 1);
  // in the middle of a find: what began can't end as if it were whole
  const records = Array.from({ length: 3000 }, (_, i) => ({ n: 10 + i }));
  t.equal((await ask(a, { space, structure, body: records })).status, 200);
  for (const kind of ['cut-middle', 'fail-middle'] as const) {
    server.fault({ match: '^SELECT .*\\.records ', action: { kind, bytes: 100_000 } });
    await t.rejects(ask(a, { space, structure }), kind);
  }
  t.equal((await ask(a, { space, structure })).body.length, 3001);
  server.clear();
});

t.test('a server that goes away is a 503 until it is back', async (t) => {
  const space = 'first';
  const structure = structureOf(project, space, texts('text'));
  await server.kill();
  for (const on of both) {
    t.match(await ask(on, { space, structure }), {
      status: 503,
      body: { code: 'not_ready', error: ['The database does not answer; try again'] },
    });
    t.match(await ask(on, { space, structure, body: [{ text: 'never' }] }), { status: 503 });
    t.equal((await fetch(`${on.baseUrl}/readyz`)).status, 503);
    t.equal((await fetch(`${on.baseUrl}/healthz`)).status, 200);
    t.match(on.stderr(), /ECONNREFUSED/, 'its log says why');
  }
  await server.restart();
  for (const on of both) {
    t.match((await ask(on, { space, structure })).body, [{ text: 'by a' }]);
    // the stores are looked at once a second at most
    while ((await fetch(`${on.baseUrl}/readyz`)).status !== 200) await sleep(50);
  }
});

t.test('kill -9 of one: the other goes on, and nothing acknowledged is lost', async (t) => {
  const space = 'killed';
  const structure = structureOf(project, space, fieldsOf('n NUMBER'));
  const acknowledged = new Set<number>();
  const counts = { a: 0, b: 0 };
  let running = true;
  let next = 0;
  const insert = (on: Sluice, n: number) => ask(on, { space, structure, path: '/_single_', body: { n } });
  await insert(b, next++);
  const writers = (['a', 'b', 'a', 'b'] as const).map(async (name) => {
    while (running) {
      const n = next++;
      const answer = await insert(name === 'a' ? a : b, n).catch((error: unknown) => {
        // only of the one that is killed
        if (name === 'b') throw error;
        return null;
      });
      if (answer === null) return;
      t.equal(answer.status, 200);
      acknowledged.add(n);
      counts[name]++;
    }
  });
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await until(() => counts.a >= 20 && counts.b >= 20);
  await a.kill();
  const before = counts.b;
  await until(() => counts.b >= before + 20);
  running = false;
  await Promise.all(writers);
  const found = ((await ask(b, { space, structure })).body as { n: number }[]).map(({ n }) => n);
  t.equal(new Set(found).size, found.length, 'no record is there twice');
  for (const n of acknowledged) if (!found.includes(n)) t.fail(`record ${n} is lost`);
  t.ok(counts.a >= 20 && counts.b >= before + 20);
});

t.test('no log has the password or the token', async (t) => {
  for (const on of both) {
    for (const secret of [password, Buffer.from(`sluice:${password}`).toString('base64'), acceptanceToken]) {
      t.notOk(on.stderr().includes(secret));
    }
  }
  t.equal(await b.stop(), 0);
});
