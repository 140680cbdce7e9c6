/** login and getTokenOwner over the real engine: who gets in, who does not, and what either costs. */
import t from 'tap';
import { createLoginTokens } from '#auth/login-tokens.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { droppedVersion, recordsIdOf } from '#query/space/catalogue-entry.ts';
import { countingHasher } from '../services/counting-hasher.ts';
import { projectsOf } from '../services/projects-client.ts';
import { queryHarnessFor, refusal, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const hasher = countingHasher();
let failQueries = false;
let queries = 0;
const harness = await queryHarnessFor(t, {
  freshness: { heardAfter: 0 },
  hasher,
  wrap: (db) => ({
    ...db,
    rows: async (statement) => {
      if (statement.sql.includes('_hashes')) queries++;
      if (failQueries) throw new Error('the engine is away');
      return db.rows(statement);
    },
  }),
});

const fields: FieldInput[] = fieldsOf(
  'email TEXT unique, firstName/first-name TEXT, password TEXT hashed, pin NUMBER hashed',
);
const usersOf = (project: string, slug = 'users') => structureOf(project, slug, fields);
const resources = (...structures: string[]) => ({
  'function-resources': `{"mustExistSpaceStructures":[${structures.join(',')}]}`,
});
const login = (body: unknown, { project = 'p', slug = 'users', owner = 'owner', headers = {} } = {}) =>
  harness.call({
    path: `/${project}/function/login`,
    body,
    owner,
    headers: { ...resources(usersOf(project, slug)), ...headers },
  });
const tokenOwner = (token: string | undefined, { project = 'p', slug = 'users', owner = 'owner' } = {}) =>
  harness.call({
    path: `/${project}/${slug}/get-token-owner`,
    structure: usersOf(project, slug),
    owner,
    headers: token === undefined ? {} : { token },
  });

const users = spaceOf(harness, 'p', 'users', usersOf('p'));
const ada = (await users.insertOne({ email: 'ada@x', firstName: 'Ada', password: 'right', pin: 1815 })).body;
await users.insertOne({ email: 'grace@x', firstName: 'Grace', password: 'other' });
await users.insertOne({ email: 'nobody@x', firstName: 'Nobody' });

t.test('a right password gives a token and the user, without hashed fields', async (t) => {
  const { status, body } = await login({ email: 'ada@x', password: 'right' });
  t.equal(status, 200);
  t.strictSame(Object.keys(body), ['token', 'user']);
  t.strictSame(body.user, ada);
  t.notMatch(JSON.stringify(body.user), /password|argon2|pin/);
  t.strictSame((await tokenOwner(body.token)).body, ada);
  t.strictSame(
    (await login({ 'first-name': 'Ada', email: 'ada@x', password: 'right', pin: 1815 })).body.user,
    ada,
  );
  t.strictSame((await login({ id: ada.id, password: 'right' })).body.user, ada);
});

t.test('wrong password and unknown user: one answer, the same work', async (t) => {
  await login({ email: 'warm@x', password: 'up' });
  const attempts = {
    'wrong password': { email: 'ada@x', password: 'wrong' },
    'unknown user': { email: 'eve@x', password: 'wrong' },
    'a user without password': { email: 'nobody@x', password: 'null' },
    "another user's password": { email: 'ada@x', password: 'other' },
    'an empty password': { email: 'ada@x', password: '' },
    'the right password of no user': { email: 'ada@X', password: 'right' },
  };
  const outcomes = new Map<string, string>();
  for (const [name, body] of Object.entries(attempts)) {
    harness.forget();
    await login({ email: 'warm@x', password: 'up' });
    const before = { ...hasher.work, queries };
    const { status, code, problems } = await login(body);
    const work = {
      hashed: hasher.work.hashed - before.hashed,
      verified: hasher.work.verified - before.verified,
      queries: queries - before.queries,
    };
    outcomes.set(name, JSON.stringify({ status, code, problems, work }));
  }
  const expected = {
    status: 401,
    code: 'unauthorized',
    problems: ['Wrong user name or password'],
    work: { hashed: 0, verified: 1, queries: 1 },
  };
  for (const [name, outcome] of outcomes) t.strictSame(JSON.parse(outcome), expected, name);
});

t.test('every hashed value is verified, also after one that was wrong', async (t) => {
  for (const body of [
    { email: 'ada@x', password: 'right', pin: 1 },
    { email: 'ada@x', password: 'wrong', pin: 1815 },
    { email: 'grace@x', password: 'other', pin: 1 },
    { email: 'eve@x', password: 'x', pin: 1 },
  ]) {
    harness.forget();
    await login({ email: 'warm@x', password: 'up' });
    const before = hasher.work.verified;
    t.match(await login(body), { status: 401 }, JSON.stringify(body));
    t.equal(hasher.work.verified - before, 2);
  }
});

t.test('of several records with the values the oldest is meant, and no more is verified', async (t) => {
  const before = hasher.work.verified;
  const loose = structureOf('p', 'loose', fieldsOf('name TEXT, password TEXT hashed'));
  const space = spaceOf(harness, 'p', 'loose', loose);
  await space.insert([
    { name: 'twin', password: 'first' },
    { name: 'twin', password: 'second' },
  ]);
  const attempt = (password: string) =>
    harness.call({
      path: '/p/function/login',
      headers: resources(loose),
      body: { name: 'twin', password },
    });
  t.equal((await attempt('first')).status, 200);
  t.equal((await attempt('second')).status, 401);
  t.equal(hasher.work.verified - before, 2);
});

t.test('what is not enough to log in', async (t) => {
  for (const [body, code] of [
    [{ email: 'ada@x' }, 'invalid_condition'],
    [{ password: 'right' }, 'invalid_condition'],
    [{}, 'invalid_condition'],
    [[], 'invalid_body'],
    ['null', 'invalid_body'],
    ['', 'invalid_body'],
    ['{', 'invalid_body'],
    [{ email: { $ne: null }, password: 'right' }, 'invalid_value'],
    [{ email: ['ada@x'], password: 'right' }, 'invalid_value'],
    [{ email: 'ada@x', password: 'right', nosuch: 1 }, 'invalid_value'],
    [{ email: null, password: 'right' }, 'invalid_value'],
  ] as const) {
    const before = hasher.work.verified;
    t.match(await login(body), { status: 400, code }, JSON.stringify(body));
    t.equal(hasher.work.verified, before);
  }
  t.match(await login({ email: 'x'.repeat(1024 ** 2), password: 'p' }), { status: 413 });
});

t.test('function-resources names one space', async (t) => {
  const call = (headers: Record<string, string>, project = 'p') =>
    harness.call({
      path: `/${project}/function/login`,
      body: { email: 'ada@x', password: 'right' },
      headers,
    });
  const good = usersOf('p');
  for (const headers of [
    {},
    { 'function-resources': '' },
    { 'function-resources': '{' },
    { 'function-resources': 'null' },
    { 'function-resources': '[]' },
    { 'function-resources': '{"mustExistSpaceStructures":{}}' },
    resources(),
    resources(good, good),
    resources('1'),
    resources('null'),
    resources('[]'),
  ]) {
    t.match(await call(headers), refusal('invalid_header'), JSON.stringify(headers));
  }
  t.match(
    await call(resources('{}')),
    refusal('invalid_structure', /projectSlug/, /lacks slug/, /recordStructure/),
  );
  t.match(
    await call(resources(structureOf('elsewhere', 'users', fields))),
    refusal('invalid_structure', /elsewhere/),
  );
  for (const slug of ['function', '..', 'a\n', 'x'.repeat(201)]) {
    t.match(await call(resources(structureOf('p', slug, fields))), refusal('invalid_slug'), slug);
  }
  t.match(await call(resources(good), '_x'), refusal('invalid_slug'));
  t.match(await call({ ...resources(usersOf('nowhere')), 'auto-create-project': 'false' }, 'nowhere'), {
    status: 404,
    code: 'project_not_found',
  });
});

t.test('hostile values are only values', async (t) => {
  const values = [
    ...["' OR '1'='1", "\\' OR 1=1 --", '`; DROP TABLE x', '%', '_', '\0', '{x:String}', '$2b$10$'],
    ...['$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA', '😀'],
    'x'.repeat(100_000),
  ];
  for (const [index, value] of values.entries()) {
    t.match(await login({ email: value, password: 'right' }), { status: 401 }, `email ${index}`);
    t.match(await login({ email: `user ${index}`, password: value }), { status: 401 }, `password ${index}`);
  }
  for (const [index, value] of values.entries()) {
    await users.insertOne({ email: value, firstName: 'Odd', password: value });
    const { status, body } = await login({ email: value, password: value });
    t.equal(status, 200, `user ${index}`);
    t.equal(body.user?.email, value);
  }
});

t.test('a token is worthless in another account, project or space, and when its user is gone', async (t) => {
  for (const [project, slug, owner] of [
    ['q', 'users', 'owner'],
    ['p', 'members', 'owner'],
    ['p', 'users', 'other'],
  ] as const) {
    const space = { path: `/${project}/${slug}`, structure: usersOf(project, slug), owner };
    await harness.call({ ...space, body: [{ email: 'ada@x', password: 'right' }] });
  }
  const { token } = (await login({ email: 'ada@x', password: 'right' })).body;
  t.equal((await tokenOwner(token)).status, 200);
  t.match(await tokenOwner(token, { project: 'q' }), { status: 401, code: 'unauthorized' });
  t.match(await tokenOwner(token, { slug: 'members' }), { status: 401 });
  t.match(await tokenOwner(token, { owner: 'other' }), { status: 401 });
  // the id alone must not be what counts
  const members = await storedSpace(harness.db, { project: 'p', slug: 'members' });
  await harness.db.command({
    sql: `INSERT INTO ${testDatabase}.records (space, _id, ${members.column('email')}) VALUES ('${members.id}', '${ada.id}', 'same id')`,
  });
  t.match(await tokenOwner(token, { slug: 'members' }), { status: 401 });
  const elsewhere = (await login({ email: 'ada@x', password: 'right' }, { project: 'q' })).body.token;
  t.equal((await tokenOwner(elsewhere, { project: 'q' })).status, 200);
  t.match(await tokenOwner(elsewhere), { status: 401 });
  const leaving = (await users.insertOne({ email: 'leaving@x', password: 'p' })).body;
  const last = (await login({ email: 'leaving@x', password: 'p' })).body.token;
  t.equal((await tokenOwner(last)).body.id, leaving.id);
  t.equal((await users.deleteOneById(leaving.id)).status, 200);
  t.match(await tokenOwner(last), { status: 401, code: 'unauthorized' });
});

t.test('a token from before the drop is refused in the space of that name, a new one taken', async (t) => {
  const members = { project: 'd', slug: 'members' };
  const { insertOne } = spaceOf(harness, 'd', 'members', usersOf('d', 'members'));
  const who = { email: 'ada@x', password: 'right' };
  const logIn = async () => (await login(who, members)).body;
  await insertOne(who);
  const first = await logIn();
  t.equal((await tokenOwner(first.token, members)).status, 200);
  t.equal((await projectsOf(harness).dropSpace('d', 'members')).status, 204);
  await insertOne(who);
  const second = await logIn();
  t.strictSame((await tokenOwner(second.token, members)).body, second.user);
  // the id alone must not be what counts
  const dropped = { id: uuidV5('owner', 'd', 'members'), version: droppedVersion(1), store: 0 };
  const id = recordsIdOf(dropped);
  await harness.db.command({
    sql: `INSERT INTO ${testDatabase}.records (space, _id) VALUES ('${id}', '${first.user.id}')`,
  });
  t.match(await tokenOwner(first.token, members), { status: 401, code: 'unauthorized' });
});

t.test('a bad, expired, changed or missing token', async (t) => {
  const { token } = (await login({ email: 'ada@x', password: 'right' })).body;
  const [head, payload, signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const other = Buffer.from(JSON.stringify({ ...claims, sub: 'other' })).toString('base64url');
  for (const bad of [
    undefined,
    '',
    'x',
    `${token}x`,
    `${head}.${other}.${signature}`,
    `${head}.${payload}.`,
    `Bearer ${token}`,
    `${token}, ${token}`,
    "' OR 1=1",
  ]) {
    t.match(await tokenOwner(bad), { status: 401, code: 'unauthorized' }, String(bad).slice(0, 20));
  }
  const keys = createStoredKeys({ db: harness.db, database: testDatabase });
  const issue = (ttl: number, sub: string, ago = 0) =>
    createLoginTokens({ keys, ttl, now: () => new Date(Date.now() - ago) }).issue({
      projectId: claims.pid,
      spaceId: claims.sid,
      recordId: sub,
    });
  t.equal((await tokenOwner(await issue(60_000, ada.id))).status, 200, 'the key is the one in the store');
  t.match(await tokenOwner(await issue(60_000, ada.id, 61_000)), { status: 401 });
  t.match(await tokenOwner(await issue(60_000, "x' OR '1'='1")), { status: 401 });
  t.match(await tokenOwner(await issue(60_000, '')), { status: 401 });
});

t.test('processes on one store accept each other, also when they begin at once', async (t) => {
  await harness.db.command({ sql: `TRUNCATE TABLE ${testDatabase}.signing_keys` });
  const processes = Array.from({ length: 4 }, () =>
    createLoginTokens({ keys: createStoredKeys({ db: harness.db, database: testDatabase }), ttl: 60_000 }),
  );
  const claims = { projectId: 'p', spaceId: 's', recordId: 'r' };
  // at once: a key that another process made a moment ago is not taken for one that does not exist
  const issued = await Promise.all(processes.map((tokens) => tokens.issue(claims)));
  for (const tokens of processes) {
    for (const token of issued) t.strictSame(await tokens.verify(token), claims);
  }
});

t.test('a flood of unknown keys is no flood of queries', async (t) => {
  let looks = 0;
  const keys = createStoredKeys({
    db: {
      ...harness.db,
      rows: (statement) => {
        looks++;
        return harness.db.rows(statement);
      },
    },
    database: testDatabase,
  });
  const flood = () => Promise.all(Array.from({ length: 100 }, (_, i) => keys.find(`no-${i}`)));
  t.ok((await flood()).every((key) => key === null));
  t.equal(looks, 1);
  await flood();
  t.equal(looks, 2);
});

t.test('repeated failures are slowed down, for users and for nobody alike', async (t) => {
  const slowedDown = async (email: string): Promise<void> => {
    const guess = () => login({ email, password: 'guess' });
    const outcomes: number[] = [];
    for (let i = 0; i < 9; i++) outcomes.push((await guess()).status);
    t.strictSame(outcomes, Array(9).fill(401), email);
    t.match(await guess(), { status: 429, code: 'too_many_attempts' }, email);
    const otherwise = await login({ email, firstName: 'Grace', password: 'guess' });
    t.match(otherwise, { status: 429 }, 'another field makes no other identity');
  };
  await Promise.all([slowedDown('grace@x'), slowedDown('no-such@x')]);
  t.equal((await login({ email: 'ada@x', password: 'right' })).status, 200, 'others are not slowed down');
});

t.test('an engine that is away is not a wrong password', async (t) => {
  failQueries = true;
  await t.rejects(login({ email: 'ada@x', password: 'right' }), { message: 'the engine is away' });
  failQueries = false;
  t.equal((await login({ email: 'ada@x', password: 'right' })).status, 200);
});
