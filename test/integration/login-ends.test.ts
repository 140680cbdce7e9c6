/** How long logins last, and what ends them: a password that changed, a logout, a user who was deleted. */
import t from 'tap';
import { createLoginTokens, type LoginOfToken } from '#auth/login-tokens.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import { type QueryCall, queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 } });
const userFields = fieldsOf('name TEXT required unique, password TEXT hashed, colour TEXT');
const day = 86_400;
const users = spaceOf(
  harness,
  'app',
  'users',
  structureOf('app', 'users', userFields, { authOptions: { active: false, sessionSeconds: 30 * day } }),
);
const notes = spaceOf(harness, 'app', 'notes', fieldsOf('text TEXT, owner TEXT'));
const guarded = spaceOf(
  harness,
  'app',
  'guarded',
  structureOf('app', 'guarded', fieldsOf('text TEXT'), { authOptions: { space: 'users' } }),
);
const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
const resources = { 'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] }) };

await users.make();
await notes.make();
const setRules = (space: string, rules: unknown) =>
  harness.call({ method: 'PUT', path: `/_projects_/app/spaces/${space}/rules`, body: rules });
await setRules('users', { find: { id: '$user.id' }, insert: true, update: { id: '$user.id' } });
await setRules('notes', { find: { owner: '$user.id' } });

/** A call with a secret token. */
const owned = (call: QueryCall) =>
  harness.call({ ...call, headers: { 'use-pre-stored-structure': 'true', ...call.headers } });

/** A function of the space of users, called by a page. */
const callFunction = (name: string, token?: string, body?: unknown) =>
  harness.call({
    method: 'POST',
    path: `/app/function/${name}`,
    headers: { ...publishable, ...resources, ...(token && { token }) },
    ...(body !== undefined && { body }),
  });

let made = 0;
async function newUser(): Promise<{ id: string; name: string; logIn: () => Promise<string> }> {
  const name = `user${made++}`;
  const { body } = await users.insertOne({ name, password: 'right' });
  const logIn = async () => (await callFunction('login', undefined, { name, password: 'right' })).body.token;
  return { id: body.id, name, logIn };
}

/** The statuses of all that a login token is good for. */
async function uses(token: string): Promise<readonly number[]> {
  const page = { ...publishable, token };
  const answers = [
    await harness.call({ path: '/app/notes', headers: page }),
    await harness.call({ path: '/app/users/get-token-owner', headers: page }),
    await harness.call({
      path: '/app/users/get-token-owner',
      headers: { token, 'use-pre-stored-structure': 'true' },
    }),
    await guarded.find('', undefined, { token }),
    await callFunction('refresh-login', token),
  ];
  return answers.map(({ status }) => status);
}
const good = [200, 200, 200, 200, 200];
const ended = [401, 401, 401, 401, 401];

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());

/** A token as a process would have issued it. */
async function issued(like: string, login: Partial<LoginOfToken> | null, ttl = 60_000): Promise<string> {
  const { pid, sid, sub, lid, auth_time, gen } = claimsOf(like);
  const keys = createStoredKeys({ db: harness.db, database: testDatabase });
  return createLoginTokens({ keys, ttl }).issue({
    projectId: pid,
    spaceId: sid,
    recordId: sub,
    ...(login && { login: { id: lid, began: auth_time, generation: gen, ...login } }),
  });
}

t.test('a login is renewed, for as long as its space says', async (t) => {
  const ada = await newUser();
  const first = await ada.logIn();
  t.strictSame(await uses(first), good);
  const { body, status } = await callFunction('refresh-login', first);
  t.match({ status, body }, { status: 200, body: { user: { id: ada.id, name: ada.name } } });
  t.notMatch(JSON.stringify(body.user), /password/);
  const [before, after] = [claimsOf(first), claimsOf(body.token)];
  t.equal(after.lid, before.lid, 'the same login');
  t.equal(after.auth_time, before.auth_time, 'since the same time');
  t.strictSame(await uses(body.token), good);
  const now = Math.floor(Date.now() / 1000);
  const late = await issued(first, { began: now - 30 * day + 1000 });
  const last = claimsOf((await callFunction('refresh-login', late)).body.token);
  t.equal(last.exp, last.auth_time + 30 * day, 'never beyond the bound');
  const tooLate = await issued(first, { began: now - 30 * day });
  t.match(await callFunction('refresh-login', tooLate), { status: 401, problems: [/too old/] });
  t.match(await callFunction('refresh-login', await issued(first, {}, -10_000)), { status: 401 }, 'expired');
  const ofBefore = await issued(first, null);
  t.match(await callFunction('refresh-login', ofBefore), { status: 401 }, 'of an earlier version');
  t.strictSame((await uses(ofBefore)).slice(0, 4), [200, 200, 200, 200]);
  for (const bad of [undefined, '', 'x', `${first}x`])
    t.match(await callFunction('refresh-login', bad), { status: 401, code: 'unauthorized' });
});

t.test('without sessionSeconds nothing is renewed', async (t) => {
  const plain = spaceOf(harness, 'app', 'plain', userFields);
  await plain.insertOne({ name: 'ada', password: 'right' });
  const headers = { 'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'plain' }] }) };
  const call = (name: string, more: object) =>
    harness.call({ method: 'POST', path: `/app/function/${name}`, headers: { ...headers, ...more } });
  const login = await harness.call({
    path: '/app/function/login',
    headers,
    body: { name: 'ada', password: 'right' },
  });
  const { token } = login.body;
  t.match(await call('refresh-login', { token }), { status: 403, problems: [/sessionSeconds/] });
  t.match(await callFunction('refresh-login', token), { status: 401 }, 'as a user of another space');
  t.match(await call('refresh-login', { token, ...publishable }), { status: 403, code: 'not_allowed' });
  t.match(await call('logout', { token }), { status: 200, body: { loggedOut: true } });
  const other = { 'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'none' }] }) };
  t.match(await call('refresh-login', { token, ...other }), { status: 404 });
  const { body } = await harness.call({ path: '/_projects_/app/spaces' });
  t.notMatch(JSON.stringify(body), /"none"/, 'no space is made');
});

t.test('a structure keeps its sessionSeconds, and may switch them off', async (t) => {
  const secondsOf = async () =>
    (await harness.call({ path: '/_projects_/app/spaces/users' })).body.structure.authOptions.sessionSeconds;
  const set = (authOptions: object) =>
    harness.call({
      path: '/app/users/set-structure',
      body: JSON.parse(structureOf('app', 'users', userFields, { authOptions })),
      headers: { mutate: 'true' },
    });
  t.equal(await secondsOf(), 30 * day);
  t.match(await set({ active: false, space: '', scope: ['find'] }), { status: 200 });
  t.equal(await secondsOf(), 30 * day, 'by a client that does not know them');
  const token = await (await newUser()).logIn();
  t.match(await set({ active: false, sessionSeconds: 0 }), { status: 200 });
  t.match(await callFunction('refresh-login', token), { status: 403 });
  t.match(await set({ active: false, sessionSeconds: 30 * day }), { status: 200 });
  t.match(await callFunction('refresh-login', token), { status: 200 });
  for (const bad of [-1, 1.5, '5', 366 * day + 1, {}])
    t.match(await set({ active: false, sessionSeconds: bad }), {
      status: 400,
      problems: [/sessionSeconds that are not a whole number/],
    });
});

t.test('a password that changes ends the logins before it', async (t) => {
  const [ada, bob] = [await newUser(), await newUser()];
  const [hers, his] = [await ada.logIn(), await bob.logIn()];
  const update = (changes: object, headers = {}) =>
    owned({ path: '/app/users/update-by-id', query: `id=${ada.id}`, body: changes, headers });
  t.match(await update({ colour: 'red' }), { status: 200 });
  t.strictSame(await uses(hers), good, 'not by another field');
  const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['by its owner', () => update({ password: 'right' }, { ...publishable, token: hers })],
    ['by an update', () => update({ password: 'right' })],
    [
      'of many',
      () =>
        owned({
          path: '/app/users/_update_',
          body: { where: { name: ada.name }, set: { password: 'right' } },
        }),
    ],
    [
      'by an upsert',
      () =>
        owned({
          path: '/app/users/_single_',
          body: { name: ada.name, password: 'right' },
          headers: { options: JSON.stringify({ onConflict: { field: 'name', do: 'update' } }) },
        }),
    ],
  ];
  for (const [how, change] of changes) {
    const token = how === 'by its owner' ? hers : await ada.logIn();
    t.strictSame(await uses(token), good, how);
    t.match(await change(), { status: 200 }, how);
    t.strictSame(await uses(token), ended, `${how}, even to the same password`);
    t.match(await callFunction('logout', token), { status: 401 });
  }
  t.match(await update({ password: null }), { status: 200 });
  t.strictSame(await uses(await issued(hers, {})), ended);
  t.strictSame(await uses(await issued(hers, null)), ended, 'and those of an earlier version');
  t.strictSame(await uses(his), good, 'nobody else is concerned');
});

t.test('a logout ends one login, with all its tokens', async (t) => {
  const ada = await newUser();
  const [phone, laptop] = [await ada.logIn(), await ada.logIn()];
  const renewed: string = (await callFunction('refresh-login', phone)).body.token;
  t.strictSame([await uses(phone), await uses(renewed), await uses(laptop)], [good, good, good]);
  t.match(await callFunction('logout', renewed), { status: 200, body: { loggedOut: true } });
  t.strictSame([await uses(phone), await uses(renewed), await uses(laptop)], [ended, ended, good]);
  t.match(await callFunction('logout', phone), { status: 401 }, 'twice');
  t.match(await callFunction('logout', 'x'), { status: 401 });
  await harness.restart();
  t.strictSame([await uses(phone), await uses(laptop)], [ended, good], 'also after a restart');
  const { text } = await users.find(`name=${ada.name}`);
  t.notMatch(text, claimsOf(phone).lid, 'nothing of it is answered');
  const old = await issued(laptop, null);
  t.match(await callFunction('logout', old), { status: 200 });
  t.strictSame([await uses(old), await uses(laptop)], [ended, ended], 'of an earlier version: all end');
});

t.test('more logouts than are remembered end all logins of the user', async (t) => {
  const [ada, bob] = [await newUser(), await newUser()];
  const [kept, his] = [await ada.logIn(), await bob.logIn()];
  const out: string[] = [];
  for (let count = 0; count < 32; count++) {
    const token = await issued(kept, { id: `login${count}` });
    out.push(token);
    t.match(await callFunction('logout', token), { status: 200 });
  }
  t.strictSame(await uses(kept), good);
  t.strictSame(await uses(out[0] as string), ended);
  t.match(await callFunction('logout', await issued(kept, { id: 'last' })), { status: 200 });
  for (const token of [kept, ...out]) t.match(await callFunction('refresh-login', token), { status: 401 });
  t.strictSame([await uses(await ada.logIn()), await uses(his)], [good, good]);
});

t.test('logouts at once are all remembered', async (t) => {
  const ada = await newUser();
  const tokens = await Promise.all(Array.from({ length: 8 }, () => ada.logIn()));
  const answers = await Promise.all(tokens.map((token) => callFunction('logout', token)));
  t.ok(answers.every(({ status }) => status === 200));
  for (const token of tokens) t.strictSame(await uses(token), ended);
});

t.test('a logout calls no webhook', async (t) => {
  const hooked = spaceOf(harness, 'app', 'hooked', userFields, {
    webhooks: { onUpdateUrl: 'http://127.0.0.1:9/' },
  });
  const { body: user } = await hooked.insertOne({ name: 'ada', password: 'right' });
  const calls = async () =>
    (await harness.call({ path: '/_webhooks_/deliveries' })).body.filter(
      ({ url }: { url: string }) => url === 'http://127.0.0.1:9/',
    ).length;
  const headers = {
    'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'hooked' }] }),
  };
  const login = { path: '/app/function/login', headers, body: { name: 'ada', password: 'right' } };
  const { token } = (await harness.call(login)).body;
  const logout = { method: 'POST', path: '/app/function/logout', headers: { ...headers, token } };
  t.match(await harness.call(logout), { status: 200 });
  t.equal(await calls(), 0);
  t.match(await hooked.updateOneById(user.id, { colour: 'red' }), { status: 200 });
  t.equal(await calls(), 1, 'an update does');
});

t.test('a user who was deleted', async (t) => {
  const ada = await newUser();
  const token = await ada.logIn();
  await users.deleteOneById(ada.id);
  t.strictSame(await uses(token), ended);
  t.match(await callFunction('logout', token), { status: 401 });
});
