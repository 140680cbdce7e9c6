/** Accounts of the dashboard: who may register, log in and claim, and what a stranger can find out. */
import t from 'tap';
import { developerEmail, executeTokenOrder } from '#auth/execute-token-order.ts';
import { createHasher } from '#auth/hasher.ts';
import { bootstrapToken, type ConsoleAnswer, passwordOf, serveConsole } from '../services/console-harness.ts';
import { countingHasher } from '../services/counting-hasher.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const ada = 'ada@example.com';
const statuses = (answers: readonly ConsoleAnswer[]): number[] =>
  answers.map(({ status }) => status).sort((a, b) => a - b);
/** What a stranger can compare. */
const comparable = ({ status, body, headers }: ConsoleAnswer) => {
  const { timestamp: _, requestId: __, ...rest } = body;
  return { status, rest, names: Object.keys(headers).sort(), length: headers['content-length'] };
};

t.test('an account registers, logs out, and logs in whatever the case of its address', async (t) => {
  const served = await serveConsole(t, await openMigratedChdb(t), { hasher: createHasher() });
  const visitor = served.visitor();
  t.match((await visitor.send('/session')).body, { account: null, csrfToken: null, canRegister: true });
  const registered = await visitor.register('Ada@Example.com', { name: 'Ada' });
  t.equal(registered.status, 201);
  t.match(registered.body, { account: { email: ada, name: 'Ada' }, registration: 'open', apiUrl: '' });
  t.match((await visitor.send('/session')).body.account, { email: ada });
  const stored = await served.users.findByEmail(ada);
  t.match(stored?.passwordHash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.equal((await visitor.send('/logout', {})).status, 204);
  t.equal((await visitor.send('/session')).body.account, null);
  const again = served.visitor();
  t.equal((await again.logIn(ada, 'wrong')).status, 401);
  t.equal((await again.logIn(' ADA@example.com ', passwordOf(ada))).status, 200);
  t.equal((await again.send('/session')).body.account.id, stored?.id);
});

t.test('what is no account is refused, and every problem is named', async (t) => {
  const { visitor } = await serveConsole(t, await openMigratedChdb(t));
  const bad: [unknown, RegExp][] = [
    [[], /JSON object/],
    [{}, /email should be a text.*password should be a text/],
    [{ email: 'ada', password: 'long enough' }, /e-mail address/],
    [{ email: `${'a'.repeat(251)}@b.c`, password: 'long enough' }, /254/],
    [{ email: 'a b@c', password: 'long enough' }, /e-mail address/],
    [{ email: ada, password: 'short' }, /8 to 256/],
    [{ email: ada, password: 'x'.repeat(257) }, /8 to 256/],
    [{ email: ada, password: 'long enough', name: 'a\u0000b' }, /control/],
    [{ email: ada, password: 'long enough', name: 7 }, /name should be a text/],
    [{ email: ada, password: 'long enough', claimToken: 7 }, /claimToken should be a text/],
  ];
  for (const [body, message] of bad) {
    const answer = await visitor().send('/register', body);
    t.equal(answer.status, 400, JSON.stringify(body).slice(0, 80));
    t.match(answer.body.message, message);
  }
  for (const body of [{ email: ada }, { email: 1, password: 'x' }, 'no json', '']) {
    t.equal((await visitor().send('/login', body)).status, 400);
  }
  t.equal((await visitor().send('/login', { email: ada, password: 'x'.repeat(20_000) })).status, 413);
  t.equal((await visitor().logIn(`${'a'.repeat(10_000)}@b.c`, 'wrong')).status, 401);
});

t.test('neither answer nor work says whether an account exists', async (t) => {
  const hasher = countingHasher();
  const { visitor, users } = await serveConsole(t, await openMigratedChdb(t), { hasher });
  await visitor().register(ada);
  await users.create({ email: 'no-password@example.com', name: '' });
  const attempts = [
    () => visitor().logIn(ada, 'wrong'),
    () => visitor().logIn('nob@example.com', 'wrong'),
    () => visitor().logIn('no-password@example.com', ''),
    () => visitor().logIn(developerEmail, ''),
  ];
  const seen: unknown[] = [];
  for (const attempt of attempts) {
    const before = hasher.work.verified;
    seen.push({ ...comparable(await attempt()), work: hasher.work.verified - before });
  }
  for (const other of seen) t.strictSame(other, seen[0]);
  t.match(seen[0], { status: 401, work: 1 });

  const hashed = hasher.work.hashed;
  const taken = await visitor().register(ada, { password: 'another password' });
  t.equal(hasher.work.hashed, hashed + 1, 'a taken address costs what a free one costs');
  t.match(taken, { status: 403, body: { code: 'registration_refused' } });
  const own = await visitor().register(developerEmail);
  t.strictSame(comparable(own), comparable(taken), 'that of the first start can not be registered');
});

t.test('guesses for one address wait, with an account or without, and the right password too', async (t) => {
  const { visitor } = await serveConsole(t, await openMigratedChdb(t));
  await visitor().register(ada);
  for (const email of [ada, 'nobody@example.com']) {
    const seen: number[] = [];
    for (let i = 0; i < 5; i++) seen.push((await visitor().logIn(email, `guess ${i}`)).status);
    t.strictSame(seen, [401, 401, 401, 401, 429], email);
  }
  const refused = await visitor().logIn(ada);
  t.match(refused, {
    status: 429,
    headers: { 'retry-after': /^[1-9]\d*$/ },
    body: { code: 'too_many_attempts' },
  });
  t.equal((await visitor().register('bob@example.com')).status, 201);
  t.equal((await visitor().logIn('bob@example.com')).status, 200, 'others log in meanwhile');
});

t.test('the password that is asked for a change is guessed behind the same throttle', async (t) => {
  const { visitor } = await serveConsole(t, await openMigratedChdb(t));
  const one = visitor();
  await one.register(ada);
  const seen: number[] = [];
  for (let i = 0; i < 5; i++) {
    seen.push((await one.send('/password', { current: `guess ${i}`, next: 'a new password' })).status);
  }
  t.strictSame(seen, [403, 403, 403, 403, 429]);
  t.equal((await visitor().logIn(ada)).status, 429);
});

t.test('REGISTRATION=first: one account, also of many that come at once to two processes', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([
    serveConsole(t, stores, { mode: 'first' }),
    serveConsole(t, stores, { mode: 'first' }),
  ]);
  t.match((await one.visitor().send('/session')).body, { registration: 'first', canRegister: true });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? one : two).visitor().register(`user${i}@example.com`)),
  );
  t.strictSame(statuses(answers), [201, ...Array(7).fill(403)]);
  t.equal((await two.visitor().register('late@example.com')).status, 403);
  const fresh = await serveConsole(t, stores, { mode: 'first' });
  t.match((await fresh.visitor().send('/session')).body, { canRegister: false, canClaim: true });
});

t.test('REGISTRATION=closed: nobody, and open: everybody', async (t) => {
  const stores = await openMigratedChdb(t);
  const closed = await serveConsole(t, stores, { mode: 'closed' });
  t.match((await closed.visitor().send('/session')).body, { registration: 'closed', canRegister: false });
  t.match(await closed.visitor().register(ada), { status: 403, body: { code: 'registration_refused' } });
  const open = await serveConsole(t, stores);
  t.equal((await open.visitor().register(ada)).status, 201);
  t.equal((await open.visitor().register('bob@example.com')).status, 201);
  t.equal((await closed.visitor().logIn(ada)).status, 200, 'who has an account logs in');
});

t.test('one address becomes one account, however many register it at once', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const passwords = Array.from({ length: 8 }, (_, i) => `password number ${i}`);
  const answers = await Promise.all(
    passwords.map((password, i) => (i % 2 === 0 ? one : two).visitor().register(ada, { password })),
  );
  t.strictSame(statuses(answers), [201, ...Array(7).fill(403)]);
  const winner = answers.findIndex(({ status }) => status === 201);
  t.equal((await two.visitor().logIn(ada, passwords[winner])).status, 200);
  t.equal((await two.visitor().logIn(ada, passwords[(winner + 1) % 8])).status, 401);
});

t.test('the account of the first start is claimed once, and its data stays its own', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([
    serveConsole(t, stores, { mode: 'closed' }),
    serveConsole(t, stores, { mode: 'closed' }),
  ]);
  const developer = await one.users.findByEmail(developerEmail);
  t.equal((await one.visitor().send('/session')).body.canClaim, true);
  for (const claimToken of ['made up token, and long', '']) {
    t.equal((await one.visitor().register(ada, { claimToken })).status, 403);
  }
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      (i % 2 === 0 ? one : two).visitor().register(`user${i}@example.com`, { claimToken: bootstrapToken }),
    ),
  );
  t.strictSame(statuses(answers), [201, 403, 403, 403, 403, 403]);
  const claimed = answers.find(({ status }) => status === 201)?.body.account;
  t.equal(claimed.id, developer?.id, 'it is the same account');
  t.equal((await two.visitor().register(ada, { claimToken: bootstrapToken })).status, 403);
  const visitor = two.visitor();
  t.equal((await visitor.logIn(claimed.email)).status, 200);
  t.match((await visitor.send('/tokens')).body.tokens, [{ name: 'first token', revokedAt: null }]);
  const authorization = `Bearer ${bootstrapToken}`;
  const whoami = await one.ask({ path: '/test/whoami', headers: { authorization } });
  t.match(whoami, { status: 200, text: new RegExp(claimed.id) }, 'its access token goes on');
  const fresh = await serveConsole(t, stores, { mode: 'first' });
  t.match((await fresh.visitor().send('/session')).body, { canClaim: false, canRegister: false });
});

t.test('the first account has tokens made and listed without its address, claimed or not', async (t) => {
  const { visitor, users, tokens } = await serveConsole(t, await openMigratedChdb(t));
  const services = { users, tokens, tokenCheck: { invalidate: async () => true } };
  const order = { action: 'create', email: null, createUser: false, expiresIn: null } as const;
  await executeTokenOrder(services, { ...order, name: 'before' });
  t.equal((await visitor().register(ada, { claimToken: bootstrapToken })).status, 201);
  await visitor().register('bob@example.com');
  await executeTokenOrder(services, { ...order, name: 'after' });
  const listed = await executeTokenOrder(services, { action: 'list', email: null });
  t.match(listed.split('\n').sort(), [/./, /./, /./]);
  for (const name of ['first token', 'before', 'after']) t.match(listed, name);
  t.equal(
    await executeTokenOrder(services, { action: 'list', email: ada }),
    listed,
    'it is the account that was claimed',
  );
  t.equal(await executeTokenOrder(services, { action: 'list', email: 'bob@example.com' }), '');
});

t.test('a claim and a registration with one address at once make one account of it', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const answers = await Promise.all([
    one.visitor().register(ada, { claimToken: bootstrapToken }),
    two.visitor().register(ada),
  ]);
  t.strictSame(statuses(answers), [201, 403]);
  const winner = answers.find(({ status }) => status === 201);
  const login = await one.visitor().logIn(ada);
  t.equal(login.body.account.id, winner?.body.account.id);
});

t.test('a token of another account, and one of a session, claim nothing', async (t) => {
  const { visitor, tokens } = await serveConsole(t, await openMigratedChdb(t));
  const bob = visitor();
  const { body } = await bob.register('bob@example.com');
  const { token } = await tokens.create({ userId: body.account.id, name: 'bob', expiresAt: null });
  for (const claimToken of [token, await bob.token()]) {
    t.equal((await visitor().register(ada, { claimToken })).status, 403);
  }
});

t.test('a token with grants, which may be in a web page, does not claim the first account', async (t) => {
  const { visitor, tokens, users } = await serveConsole(t, await openMigratedChdb(t));
  const { id: userId } = (await users.findByEmail(developerEmail)) ?? { id: '' };
  for (const grants of [{ publishable: true, origins: ['*'] }, { may: ['find'] }] as const) {
    const { token } = await tokens.create({ userId, name: 'page', expiresAt: null, grants });
    t.equal((await visitor().register(ada, { claimToken: token })).status, 403);
  }
  t.equal((await visitor().register(ada, { claimToken: bootstrapToken })).status, 201);
});
