/** Sign-up, verification of addresses and new passwords by mail. */
import t from 'tap';
import type { Webhooks } from '#events/webhooks.ts';
import { startMailServer } from '../services/mail-server.ts';
import { queryHarnessFor, refusal, testWebhooks } from '../services/query-harness.ts';
import { openSignUpApp, signUpRules } from '../services/sign-up-app.ts';

const server = await startMailServer();
let time = Date.now();
const later = (minutes: number): void => {
  time += minutes * 60_000;
};
const all: Webhooks[] = [];
const harness = await queryHarnessFor(t, {
  freshness: { heardAfter: 0 },
  now: () => time,
  webhooks: (db) => {
    const smtp = { url: server.url, from: 'Photo wall <wall@example.com>' };
    const made = testWebhooks({ db, singleWriter: true, smtp, delayAfter: () => 1 });
    all.push(made);
    return made;
  },
});
t.teardown(async () => {
  for (const one of all) await one.close();
  await server.close();
});
const app = await openSignUpApp(harness);
const sent = { status: 202, body: { state: 'sent' } };
const done = { status: 200, body: { state: 'done' } };
const badLink = { ...refusal('link_refused'), status: 403 };
const denied = { ...refusal('not_allowed'), status: 403 };
const unverified = { ...refusal('not_verified'), status: 403 };
const nextMail = (address?: string) => server.next(address);

t.test('a user signs up, verifies the address, and sets a new password', async (t) => {
  t.match(await app.signUp({ email: 'ada@example.com', password: 'secret 1', name: 'ada' }), sent);
  const mail = await nextMail();
  t.match(mail, { to: ['ada@example.com'], from: 'wall@example.com' });
  t.equal(mail.subject, 'Confirm your e-mail address for Photo wall');
  t.match(mail.raw, /^Auto-Submitted: auto-generated\r$/m);
  t.match(mail.text, /https:\/\/wall\.example\.com\/verify#token=\S+/);
  t.match(mail.code, /^\w{4}-\w{4}$/);
  t.match(await app.login('ada@example.com', 'wrong'), { status: 401 }, 'a stranger learns nothing');
  t.match(await app.login('ada@example.com', 'secret 1'), unverified);
  t.match(await app.verifyEmail({ token: mail.token }), done);
  t.match(await app.verifyEmail({ token: mail.token }), badLink, 'once');
  t.match(await app.verifyEmail({ email: 'ada@example.com', code: mail.code }), badLink, 'its code neither');
  const { body } = await app.login('ada@example.com', 'secret 1');
  t.match(body, { token: String, user: { email: 'ada@example.com', verified: true, name: 'ada' } });
  t.notOk('password' in body.user);

  t.match(await app.resetPassword({ email: 'ada@example.com' }), sent);
  const reset = await nextMail();
  t.match(reset.text, /https:\/\/wall\.example\.com\/password#token=\S+/);
  t.match(await app.verifyEmail({ token: reset.token }), badLink, 'for another purpose');
  t.match(await app.resetPassword({ token: reset.token }), refusal('invalid_body'));
  t.match(await app.resetPassword({ token: reset.token, password: '' }), refusal('invalid_value'));
  t.match(await app.resetPassword({ token: reset.token, password: 'secret 2' }), done);
  t.match(await app.resetPassword({ token: reset.token, password: 'secret 3' }), badLink, 'once');
  t.match(await app.login('ada@example.com', 'secret 1'), { status: 401 });
  t.match(await app.login('ada@example.com', 'secret 2'), { status: 200 });
});

t.test('codes are typed, in any case', async (t) => {
  await app.signUp({ email: 'bob@example.com', password: 'secret' });
  const { code } = await nextMail();
  const email = 'bob@example.com';
  t.match(await app.verifyEmail({ code }), refusal('invalid_body'), 'a code needs its address');
  t.match(await app.verifyEmail({ email: 'ada@example.com', code }), badLink, 'of another user');
  t.match(await app.verifyEmail({ email: 'nobody@example.com', code }), badLink);
  t.match(await app.verifyEmail({ email, code: '0000-0000' }), badLink);
  t.match(await app.verifyEmail({ email, code: ` ${code.toLowerCase().replace('-', ' ')}` }), done);
  t.match(await app.login(email, 'secret'), { status: 200 });
});

t.test('tokens and codes end after 15 minutes', async (t) => {
  await app.signUp({ email: 'late@example.com', password: 'secret' });
  const { token, code } = await nextMail();
  later(14);
  t.match(await app.verifyEmail({ email: 'late@example.com' }), sent);
  const again = await nextMail();
  later(1);
  t.match(await app.verifyEmail({ token }), badLink);
  t.match(await app.verifyEmail({ email: 'late@example.com', code }), badLink);
  t.match(await app.verifyEmail({ token: again.token }), done, 'the newer one is good');
  later(60);
});

t.test('tokens of other users, spaces, projects and accounts, and forged ones, are refused', async (t) => {
  const others = [
    await openSignUpApp(harness, { project: 'other' }),
    await openSignUpApp(harness, { owner: 'another' }),
  ];
  const email = 'eve@example.com';
  await app.signUp({ email, password: 'secret' });
  const { token, code } = await nextMail();
  for (const other of others) {
    await other.signUp({ email, password: 'secret' });
    await nextMail();
    t.match(await other.verifyEmail({ token }), badLink);
    t.match(await other.verifyEmail({ email, code }), badLink);
  }
  const [id = '', at = '', proof = ''] = token.split('.');
  const flipped = `${proof.slice(0, -2)}${proof.at(-2) === 'A' ? 'B' : 'A'}${proof.at(-1)}`;
  const minuteLater = (Number.parseInt(at, 36) + 1).toString(36);
  const forged = [
    `${id}.${at}.${flipped}`,
    `${id}.${minuteLater}.${proof}`,
    `${id}.zzzzzzzzz.${proof}`,
    `x${token}`,
    `${token}x`,
    `${id}.${at}.`,
    '',
    '.',
    '..',
    '\0',
    'a'.repeat(1000),
  ];
  for (const one of forged) t.match(await app.verifyEmail({ token: one }), badLink, JSON.stringify(one));
  for (const one of [null, 1, {}, ['x'], 'a'.repeat(1001), '\ud800'])
    t.match(await app.verifyEmail({ token: one }), refusal('invalid_body'), JSON.stringify(one));
  for (const body of [
    {},
    [],
    null,
    'x',
    { token, code },
    { token, email },
    { token, more: 1 },
    { email, password: 'x' },
  ])
    t.match(await app.verifyEmail(body), refusal('invalid_body'), JSON.stringify(body));
  t.match(await app.verifyEmail({ token }), done, 'the true one still is good');
});

t.test('a token ends when the address or the password of its user changes', async (t) => {
  const server = { headers: { 'test-grants': '' } };
  await app.signUp({ email: 'moves@example.com', password: 'secret' });
  const { token } = await nextMail();
  const { body: found } = await app.users.findOne('email=moves@example.com');
  await app.resetPassword({ email: 'moves@example.com' });
  const reset = await nextMail();
  await app.users.updateOneById(found.id, { email: 'moved@example.com' });
  t.match(await app.verifyEmail({ token }), badLink, 'it proves another address');
  t.match(await app.resetPassword({ token: reset.token, password: 'x' }), badLink);
  await app.resetPassword({ email: 'moved@example.com' });
  const newer = await nextMail();
  await app.users.updateOneById(found.id, { password: 'changed' });
  t.match(await app.resetPassword({ token: newer.token, password: 'x' }, server), badLink);
  await app.resetPassword({ email: 'moved@example.com' });
  const last = await nextMail();
  await app.users.deleteOneById(found.id);
  t.match(await app.resetPassword({ token: last.token, password: 'x' }), badLink, 'its user is deleted');
});

t.test('of several uses of a token at once, one succeeds', async (t) => {
  await app.signUp({ email: 'race@example.com', password: 'secret' });
  await nextMail();
  await app.resetPassword({ email: 'race@example.com' });
  const { token } = await nextMail();
  const passwords = ['a', 'b', 'c', 'd', 'e', 'f'];
  const answers = await Promise.all(passwords.map((password) => app.resetPassword({ token, password })));
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 403, 403, 403, 403, 403]);
  const winner = passwords[answers.findIndex(({ status }) => status === 200)] as string;
  t.match(await app.login('race@example.com', winner), { status: 200 }, 'a new password verifies, too');
});

t.test(
  'of several sign-ups with one address at once, one makes a user, and all answers are alike',
  async (t) => {
    const email = 'crowd@example.com';
    const answers = await Promise.all(['a', 'b', 'c'].map((password) => app.signUp({ email, password })));
    for (const answer of answers) t.match(answer, sent);
    t.match(await app.users.count(`email=${email}`), { body: { count: 1 } });
    const subjects = [await nextMail(), await nextMail(), await nextMail()].map(({ subject }) => subject);
    t.strictSame(subjects.sort(), [
      'Confirm your e-mail address for Photo wall',
      ...Array(2).fill('You already have an account at Photo wall'),
    ]);
    later(60);
  },
);

t.test('a taken address is answered like a free one, and its owner gets a mail', async (t) => {
  const headersOf = (answer: { headers?: unknown }) => answer.headers;
  const call = (email: string) => ({
    path: '/wall/function/sign-up',
    headers: {
      'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }),
      'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] }),
    },
    body: { email, password: 'other' },
  });
  const free = await harness.respond(call('free@example.com'));
  const taken = await harness.respond(call('ada@example.com'));
  t.equal(taken.status, free.status);
  t.equal(taken.body, free.body);
  t.strictSame(headersOf(taken), headersOf(free));
  await nextMail('free@example.com');
  const mail = await nextMail('ada@example.com');
  t.match(mail, { subject: 'You already have an account at Photo wall' });
  t.match(await app.login('ada@example.com', 'other'), { status: 401 });
  t.match(
    await app.resetPassword({ token: mail.token, password: 'secret 4' }),
    done,
    'its link sets a password',
  );
  for (const ask of [app.resetPassword, app.verifyEmail]) {
    const unknown = await ask({ email: 'unknown@example.com' });
    t.strictSame(unknown, await ask({ email: 'free@example.com' }));
    await nextMail();
  }
  later(60);
});

t.test('a taken name is named, whether the address is taken or not', async (t) => {
  const name = 'ada';
  const free = await app.signUp({ email: 'new@example.com', password: 'x', name });
  const taken = await app.signUp({ email: 'ada@example.com', password: 'x', name });
  t.match(free, refusal('not_unique', /'name'/));
  t.strictSame(free, taken);
  t.equal(free.problems.length, 1);
});

t.test('an address that was not verified can be taken back by its owner', async (t) => {
  const email = 'victim@example.com';
  await app.signUp({ email, password: 'of the attacker' });
  await nextMail();
  await app.signUp({ email, password: 'of the owner' });
  const { subject, token } = await nextMail();
  t.match(subject, /already have an account/);
  t.match(await app.verifyEmail({ token }), badLink, 'it does not confirm what a stranger set');
  t.match(await app.resetPassword({ token, password: 'of the owner' }), done);
  t.match(await app.login(email, 'of the attacker'), { status: 401 });
  t.match(await app.login(email, 'of the owner'), { status: 200 });
});

t.test('strangers write only what the rules allow, and never the proof of an address', async (t) => {
  const body = { email: 'mallory@example.com', password: 'x' };
  t.match(await app.signUp({ ...body, verified: true }), denied);
  t.match(await app.signUp({ ...body, id: 'x' }), { status: 400 });
  t.match(await app.signUp({ ...body, other: 1 }), { status: 400 });
  t.match(await app.signUp({ email: body.email }), refusal('invalid_value', /'password' is missing/));
  t.match(await app.signUp({ password: 'x' }), { status: 400 });
  const page = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
  const insert = (record: object) =>
    harness.call({ path: '/wall/users/_single_', headers: page, body: record });
  t.match(await insert(body), denied, 'a plain insert sets no address');
  const token = (await app.login('bob@example.com', 'secret')).body.token as string;
  const { body: bob } = await app.users.findOne('email=bob@example.com');
  const change = (record: object) =>
    harness.call({
      path: '/wall/users/update-by-id',
      query: `id=${bob.id}`,
      headers: { ...page, token },
      body: record,
    });
  t.match(await change({ name: 'bob' }), { status: 200 });
  t.match(await change({ verified: true }), denied);
  t.match(await change({ email: 'boss@example.com' }), denied, 'or the address would stay verified');
  await app.setRules({ ...signUpRules, insert: undefined });
  t.match(await app.signUp(body), denied, 'by the rule insert');
  await app.setRules({ ...signUpRules, signUp: undefined });
  for (const ask of [app.signUp, app.verifyEmail]) t.match(await ask(body), { status: /40[03]/ });
  t.match(await app.resetPassword({ email: 'bob@example.com' }), denied);
  await app.setRules(null);
  t.match(await app.signUp(body), denied, 'without rules it looks as if there was no space');
  await app.setRules(signUpRules);
});

t.test('hidden and hashed fields are not answered', async (t) => {
  const rules = { ...signUpRules, hidden: ['email', 'note'], signUp: {} };
  const fields = 'email TEXT unique, password TEXT hashed, note TEXT, name TEXT';
  const open = await openSignUpApp(harness, { project: 'open', fields, rules });
  const { status, body } = await open.signUp({ email: 'a@b.co', password: 'x', note: 'n', name: 'a' });
  t.equal(status, 200, 'nobody verifies: the user is logged in');
  t.strictSame(Object.keys(body.user).sort(), ['createdAt', 'id', 'name', 'updatedAt']);
  t.ok(body.token);
  t.match(await open.signUp({ email: 'a@b.co', password: 'x' }), refusal('not_unique', /'email'/));
  t.match(await open.verifyEmail({ email: 'a@b.co' }), denied);
  t.match(await open.resetPassword({ email: 'a@b.co' }), sent);
  t.notOk((await nextMail()).token, 'there is no page: only a code');
});
