/** Members of an account: invitations, grants that nobody exceeds, and what ends with a membership. */
import t, { type Test } from 'tap';
import { hashToken } from '#auth/access-tokens.ts';
import { consoleOperations } from '#console/operations.ts';
import type { Grants } from '#kernel/grants.ts';
import {
  type ConsoleOptions,
  passwordOf,
  type ServedConsole,
  serveConsole,
  type Visitor,
} from '../services/console-harness.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const [ada, ben, eve] = ['ada@example.com', 'ben@example.com', 'eve@example.com'] as const;
const day = 24 * 3_600_000;

async function people(t: Test, options: ConsoleOptions = {}) {
  const served = await serveConsole(t, await openMigratedChdb(t), options);
  const of = async (email: string): Promise<Visitor> => {
    const visitor = served.visitor();
    await visitor.register(email);
    return visitor;
  };
  return { served, owner: await of(ada), member: await of(ben), other: await of(eve) };
}

interface Terms {
  readonly grants?: Grants | null;
  readonly manages?: boolean;
}

async function invite(
  owner: Visitor,
  email: string,
  terms: Terms = {},
): Promise<{ token: string; id: string }> {
  const made = await owner.send('/invitations', { email, ...terms });
  if (made.status !== 201) throw new Error(made.text);
  return made.body;
}

/** Makes a person a member, whose session then acts for the owner's account. */
async function join(owner: Visitor, person: Visitor, email: string, terms: Terms = {}): Promise<void> {
  const { token } = await invite(owner, email, terms);
  const accepted = await person.send('/invitation/accept', { token });
  if (accepted.status !== 200) throw new Error(accepted.text);
}

const acting = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.send('/session')).body.acting?.email;
const idOf = async (visitor: Visitor): Promise<string> => (await visitor.send('/session')).body.account.id;

/** What a token may do, as the store has it now; null: it is refused. */
async function principalOf({ store, tokenCheck }: ServedConsole, token: string) {
  if (token.startsWith('sluice_web_')) return store.findToken(hashToken(token));
  const checked = await tokenCheck.check(token, new AbortController().signal);
  return typeof checked === 'string' ? null : checked;
}

t.test('an invitation makes a member, whose pages act for the account with the grants', async (t) => {
  const { served, owner, member } = await people(t);
  const grants = { projects: ['shop'], may: ['find' as const] };
  const { token } = await invite(owner, ben, { grants });
  t.match((await member.send('/invitation', { token })).body, {
    email: ben,
    grants,
    account: { email: ada },
  });
  const before = member.cookie;
  const accepted = await member.send('/invitation/accept', { token });
  t.match(accepted.body, { account: { email: ben }, acting: { email: ada, grants, manages: false } });
  t.not(member.cookie, before, 'a session with other rights has another cookie');
  const old = served.visitor();
  old.cookie = before;
  t.equal((await old.send('/session')).body.account, null, 'and the old one has ended');
  t.match(await principalOf(served, await member.token()), { userId: await idOf(owner), grants });
  t.match((await owner.send('/members')).body, { owner: { email: ada }, members: [{ email: ben, grants }] });
  t.match((await member.send('/session')).body.accounts, [{ email: ben }, { email: ada }]);
});

t.test('a session acts for one account at a time, in a session of its own', async (t) => {
  const { served, owner, member, other } = await people(t);
  await join(owner, member, ben);
  t.equal(await acting(member), ada);
  const token = await member.token();
  t.equal((await principalOf(served, token))?.userId, await idOf(owner));
  const home = await idOf(member);
  t.match((await member.send('/enter', { account: home })).body.acting, { email: ben, manages: true });
  t.equal(await principalOf(served, token), null, 'a page that still shows the other account');
  t.match((await member.send('/enter', { account: await idOf(owner) })).body.acting, { email: ada });
  for (const account of [await idOf(other), 'no id', '00000000-0000-4000-8000-000000000000'])
    t.equal((await member.send('/enter', { account })).status, 404, account);
  t.equal((await member.send('/enter', { account: 7 })).status, 400);
  t.equal(await acting(member), ada);
});

t.test('an invitation is for one person and one use', async (t) => {
  let ahead = 0;
  const { owner, member, other } = await people(t, { ahead: () => ahead });
  const refused = async (visitor: Visitor, token: string, why: string): Promise<void> =>
    void t.match(
      await visitor.send('/invitation/accept', { token }),
      { status: 403, body: { code: 'link_refused' } },
      why,
    );
  const first = await invite(owner, ben);
  await refused(other, first.token, 'another address');
  t.equal((await member.send('/invitation/accept', { token: first.token })).status, 200);
  t.equal(
    (await member.send('/invitation/accept', { token: first.token })).status,
    200,
    'repeated: it worked',
  );
  await refused(other, first.token, 'used');
  await owner.send(`/members/${await idOf(member)}`, undefined, 'DELETE');
  await refused(member, first.token, 'a member who was removed does not come back with it');
  const withdrawn = await invite(owner, eve);
  t.equal((await owner.send(`/invitations/${withdrawn.id}`, undefined, 'DELETE')).status, 204);
  await refused(other, withdrawn.token, 'withdrawn');
  t.equal((await other.send('/invitation', { token: withdrawn.token })).status, 403);
  const late = await invite(owner, eve);
  ahead = 0.4 * day;
  t.equal((await other.send('/invitation', { token: late.token })).status, 200);
  await owner.send('/session');
  const wrong = [late.token.slice(0, -1), `${late.token}x`, `sluice_link_${'A'.repeat(51)}`, '', 'x'];
  for (const token of wrong) await refused(other, token, 'made up');
  t.equal((await other.send('/invitation/accept', { token: 7 })).status, 400);
  for (let passed = 0; passed < 7; passed += 0.4) {
    ahead += 0.4 * day;
    await Promise.all([owner.send('/session'), other.send('/session')]);
  }
  await refused(other, late.token, 'late');
  t.strictSame((await owner.send('/invitations')).body.invitations, []);
});

t.test('an invited person registers where registration is closed, with that address alone', async (t) => {
  const stores = await openMigratedChdb(t);
  const open = await serveConsole(t, stores);
  const owner = open.visitor();
  await owner.register(ada);
  const closed = await serveConsole(t, stores, { mode: 'closed' });
  const { token } = await invite(owner, ben, { grants: { projects: ['shop'] } });
  const stranger = closed.visitor();
  t.equal((await stranger.register(ben)).status, 403);
  t.equal((await stranger.register(eve, { invitation: token })).status, 403);
  t.equal((await stranger.register(ben, { invitation: `${token}x` })).status, 403);
  const joined = await stranger.register(ben, { invitation: token });
  t.equal(joined.status, 201);
  t.match(joined.body, { account: { email: ben }, acting: { email: ada, grants: { projects: ['shop'] } } });
  t.equal((await closed.visitor().register(ben, { invitation: token })).status, 403);
});

t.test('of an acceptance and a withdrawal at once, one counts', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const owner = one.visitor();
  await owner.register(ada);
  const outcomes = new Set<string>();
  for (let i = 0; i < 12; i++) {
    const email = `person-${i}@example.com`;
    const person = two.visitor();
    await person.register(email);
    const { token, id } = await invite(owner, email);
    const accept = () => person.send('/invitation/accept', { token });
    const withdraw = () => owner.send(`/invitations/${id}`, undefined, 'DELETE');
    const [first, second] = i % 2 === 0 ? [accept, withdraw] : [withdraw, accept];
    const answers = await Promise.all([first(), second()]);
    const [accepted, withdrawn] = i % 2 === 0 ? answers : answers.toReversed();
    const isMember = (await owner.send('/members')).body.members.some(
      (one: { email: string }) => one.email === email,
    );
    t.equal(accepted?.status === 200, isMember, `${accepted?.status} ${withdrawn?.status}`);
    t.not(accepted?.status === 200, withdrawn?.status === 204, 'one of them');
    outcomes.add(String(accepted?.status));
  }
  t.comment([...outcomes].join(' '));
});

t.test('two requests that accept at once make one member', async (t) => {
  const { owner, member, served } = await people(t);
  const { token } = await invite(owner, ben);
  const again = served.visitor();
  await again.logIn(ben);
  const answers = await Promise.all([member, again].map((who) => who.send('/invitation/accept', { token })));
  t.ok(answers.some(({ status }) => status === 200));
  t.equal((await owner.send('/members')).body.members.length, 1);
});

t.test('a member who does not manage gets no operation that does, by the table of operations', async (t) => {
  const { served, owner, member, other } = await people(t);
  await join(owner, other, eve, { grants: { projects: ['shop'] } });
  await join(owner, member, ben, { grants: { projects: ['shop'] } });
  const token = (await owner.send('/tokens', { name: 'theirs' })).body;
  const pending = await invite(owner, 'new@example.com');
  const ids: Record<string, string> = {
    '/tokens/:id': token.id,
    '/members/:id': await idOf(other),
    '/invitations/:id': pending.id,
  };
  const before = {
    tokens: (await owner.send('/tokens')).text,
    members: (await owner.send('/members')).text,
    invitations: (await owner.send('/invitations')).text,
  };
  let tried = 0;
  for (const { method, path, needs, operation } of consoleOperations()) {
    if (needs !== 'manage') continue;
    const short = path.replace('/_console_/api', '');
    const address = short.replace(':id', ids[short] ?? '');
    t.equal(address.includes(':'), false, `${operation} has an id in this test`);
    const body = method === 'POST' ? { name: 'x', email: 'x@example.com', grants: null } : undefined;
    const answer = await member.send(address, body, method);
    t.match(answer, { status: 403, body: { code: 'membership_refused' } }, operation);
    const stranger = await served.ask({
      method,
      path: address,
      body,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    t.equal(stranger.status, 401, `${operation} without a session`);
    tried++;
  }
  t.ok(tried >= 9, `${tried} operations`);
  t.equal((await owner.send('/tokens')).text, before.tokens);
  t.equal((await owner.send('/members')).text, before.members);
  t.equal((await owner.send('/invitations')).text, before.invitations);
});

t.test('a page of another site changes nothing by any operation, by the table of operations', async (t) => {
  const { served, owner } = await people(t);
  const cookie = owner.cookie as string;
  const csrf = owner.csrfToken as string;
  for (const { method, path, needs, operation } of consoleOperations()) {
    if (method === 'GET') continue;
    const call = { method, path: path.replace(':id', 'x'), body: method === 'POST' ? {} : undefined };
    const sent = { cookie, 'x-csrf-token': csrf };
    const cross = await served.ask({ ...call, headers: { ...sent, 'sec-fetch-site': 'cross-site' } });
    t.match(cross, { status: 403, body: { code: 'csrf_refused' } }, `${operation} of another site`);
    if (needs === 'nothing') continue;
    const without = await served.ask({ ...call, headers: { cookie, 'sec-fetch-site': 'same-origin' } });
    t.match(without, { status: 403, body: { code: 'csrf_refused' } }, `${operation} without the token`);
  }
  t.equal(await acting(owner), ada);
});

t.test('no access token reaches an operation of the dashboard', async (t) => {
  const { served, owner } = await people(t);
  const { token } = (await owner.send('/tokens', { name: 'all' })).body;
  for (const { method, path, needs, operation } of consoleOperations()) {
    if (needs === 'nothing') continue;
    const headers = { authorization: `Bearer ${token}`, 'sec-fetch-site': 'same-origin' };
    const body = method === 'POST' ? {} : undefined;
    const answer = await served.ask({ method, path: path.replace(':id', 'x'), body, headers });
    t.equal(answer.status, 401, operation);
  }
});

t.test('nobody gives more than he has', async (t) => {
  const { owner, member, other } = await people(t);
  const grants = { projects: ['shop'], may: ['find' as const, 'insert' as const] };
  await join(owner, member, ben, { grants, manages: true });
  await join(owner, other, eve);
  const refused = async (path: string, body: object | undefined, method?: string): Promise<void> =>
    void t.match(
      await member.send(path, body, method),
      { status: 403, body: { code: 'membership_refused' } },
      `${path} ${JSON.stringify(body)}`,
    );
  const wider: (Grants | null)[] = [
    null,
    { projects: ['shop', 'blog'] },
    { projects: ['shop'] },
    { may: ['find'] },
    { projects: ['shop'], may: ['find', 'delete'] },
    { projects: ['blog'], may: ['find'] },
    { spaces: ['orders'], may: ['find'] },
  ];
  for (const some of wider) {
    await refused('/tokens', { name: 'wide', grants: some });
    await refused('/invitations', { email: 'x@example.com', grants: some });
  }
  const mine = await idOf(member);
  await refused(`/members/${mine}`, { grants: null, manages: true });
  await refused(`/members/${mine}`, { grants, manages: true });
  await refused(`/members/${mine}`, undefined, 'DELETE');
  await refused(`/members/${await idOf(other)}`, { grants, manages: false });
  await refused(`/members/${await idOf(other)}`, undefined, 'DELETE');
  const theirs = (await owner.send('/tokens', { name: 'of the owner' })).body;
  await refused(`/tokens/${theirs.id}`, undefined, 'DELETE');
  const wide = await invite(owner, 'wide@example.com');
  await refused(`/invitations/${wide.id}`, undefined, 'DELETE');
  for (const narrow of [grants, { projects: ['shop'], may: ['find' as const] }]) {
    t.equal((await member.send('/tokens', { name: 'narrow', grants: narrow })).status, 201);
    t.equal((await member.send('/invitations', { email: 'y@example.com', grants: narrow })).status, 201);
  }
  t.equal((await owner.send(`/members/${await idOf(owner)}`, { grants: null })).status, 404);
});

t.test('ids of another account are not there', async (t) => {
  const { owner, member, other } = await people(t);
  await join(owner, member, ben);
  const pending = await invite(owner, 'new@example.com');
  const token = (await owner.send('/tokens', { name: 'mine' })).body;
  const session = (await owner.send('/sessions')).body.sessions[0].id;
  for (const path of [
    `/members/${await idOf(member)}`,
    `/invitations/${pending.id}`,
    `/tokens/${token.id}`,
    `/sessions/${session}`,
    `/sessions/${"'".repeat(16)}`,
  ])
    t.equal((await other.send(path, undefined, 'DELETE')).status, 404, path);
  t.equal((await other.send(`/members/${await idOf(member)}`, { grants: null })).status, 404);
  t.equal((await owner.send('/members')).body.members.length, 1);
  t.equal((await owner.send('/invitations')).body.invitations.length, 1);
});

t.test('a member who is removed is out at once in every process, with every token', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const owner = one.visitor();
  await owner.register(ada);
  const member = two.visitor();
  await member.register(ben);
  await join(owner, member, ben, { manages: true });
  const made = (await member.send('/tokens', { name: 'a way back in' })).body;
  t.match((await owner.send('/tokens')).body.tokens, [{ name: 'a way back in', madeBy: ben }]);
  const page = await member.token();
  t.ok(await principalOf(one, made.token));
  t.equal((await owner.send(`/members/${await idOf(member)}`, undefined, 'DELETE')).status, 204);
  t.equal(await principalOf(one, made.token), null);
  t.match((await owner.send('/tokens')).body.tokens, [{ madeBy: ben, revokedAt: /^\d{4}/ }]);
  t.match((await member.send('/session')).body, { account: { email: ben }, acting: null });
  t.match(await member.send('/token', {}), { status: 403, body: { code: 'membership_refused' } });
  t.match(await member.send('/members'), { status: 403, body: { code: 'membership_refused' } });
  t.equal(await principalOf(one, page), null, 'a token that this process has not seen before');
  t.equal((await member.send('/enter', { account: await idOf(owner) })).status, 404);
  t.match((await member.send('/enter', { account: await idOf(member) })).body.acting, { email: ben });
});

t.test('other grants count at once, also for tokens that the member made', async (t) => {
  const { served, owner, member } = await people(t);
  await join(owner, member, ben, { manages: true });
  const wide = (await member.send('/tokens', { name: 'wide' })).body;
  const grants = { projects: ['shop'] };
  const narrow = (await member.send('/tokens', { name: 'narrow', grants })).body;
  const changed = await owner.send(`/members/${await idOf(member)}`, { grants, manages: false });
  t.equal(changed.status, 204);
  t.equal(await principalOf(served, wide.token), null);
  t.ok(await principalOf(served, narrow.token));
  t.match((await member.send('/session')).body.acting, { grants, manages: false });
  t.equal((await member.send('/tokens')).status, 403);
  t.match(await principalOf(served, await member.token()), { grants });
});

t.test('a token that is made while its maker is removed does not stay', async (t) => {
  const { served, owner, member } = await people(t);
  await join(owner, member, ben, { manages: true });
  const create = served.tokens.create.bind(served.tokens);
  const id = await idOf(member);
  served.tokens.create = async (args) => {
    await owner.send(`/members/${id}`, undefined, 'DELETE');
    return create(args);
  };
  t.equal((await member.send('/tokens', { name: 'late' })).status, 403);
  const { tokens } = (await owner.send('/tokens')).body;
  t.strictSame(
    tokens.filter(({ revokedAt }: { revokedAt: string | null }) => revokedAt === null),
    [],
  );
});

t.test('an invitation of a manager who may no longer invite is void', async (t) => {
  const { owner, member, other } = await people(t);
  await join(owner, member, ben, { manages: true });
  const { token } = await invite(member, eve);
  await owner.send(`/members/${await idOf(member)}`, { grants: { projects: ['shop'] }, manages: true });
  t.match(await other.send('/invitation/accept', { token }), { status: 403, body: { code: 'link_refused' } });
});

t.test('a member leaves, and the owner can not', async (t) => {
  const { owner, member } = await people(t);
  await join(owner, member, ben);
  t.match(await owner.send('/leave', {}), { status: 403, body: { code: 'membership_refused' } });
  t.equal((await member.send('/leave', {})).status, 204);
  t.strictSame((await owner.send('/members')).body.members, []);
  t.match((await member.send('/session')).body, { acting: null, accounts: [{ email: ben }] });
  t.equal((await member.send('/leave', {})).status, 204, 'repeated');
});

t.test('what is no invitation is refused, and every problem is named', async (t) => {
  const { owner } = await people(t);
  const bad: [object, RegExp][] = [
    [{}, /email should be a text/],
    [{ email: 'x' }, /e-mail address/],
    [{ email: ben, manages: 'yes' }, /manages should be true or false/],
    [{ email: ben, grants: { origins: ['*'], publishable: true } }, /no origins/],
    [{ email: ben, grants: { may: ['everything'] } }, /grants.may/],
    [{ email: ada }, /owner/],
  ];
  for (const [body, message] of bad)
    t.match(await owner.send('/invitations', body), { status: 400, body: { message } }, JSON.stringify(body));
  for (let i = 0; i < 50; i++) await invite(owner, `p${i}@example.com`);
  t.match(await owner.send('/invitations', { email: ben }), {
    status: 403,
    body: { code: 'quota_exceeded' },
  });
});

t.test('a mailer gets the link, and a link is nowhere else', async (t) => {
  const sent: { to: string; link: string }[] = [];
  const { owner } = await people(t, { send: async (notice) => void sent.push(notice) });
  const made = await owner.send('/invitations', { email: ben });
  t.match(made.body, { isSent: true });
  t.match(sent, [{ to: ben, link: `https://console.test/invitation#${made.body.token}` }]);
  t.notMatch((await owner.send('/invitations')).text, /sluice_link_/);
  const failing = await people(t, { send: async () => Promise.reject(new Error('the mailer is away')) });
  t.match((await failing.owner.send('/invitations', { email: ben })).body, {
    isSent: false,
    token: /^sluice_link_/,
  });
});

t.test('invitations that are withdrawn again send no end of mails', async (t) => {
  const sent: string[] = [];
  const { owner } = await people(t, { send: async ({ to }) => void sent.push(to) });
  for (let i = 0; i < 100; i++) {
    const { id } = await invite(owner, 'stranger@example.com');
    t.equal((await owner.send(`/invitations/${id}`, undefined, 'DELETE')).status, 204);
  }
  t.match(await owner.send('/invitations', { email: ben }), { status: 429, body: { code: 'rate_limited' } });
  t.equal(sent.length, 100);
});

t.test('sessions are listed without a secret, and end one by one or all others', async (t) => {
  const { served, owner } = await people(t);
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const login = await served.ask({
    method: 'POST',
    path: '/login',
    headers: { 'user-agent': firefox, 'sec-fetch-site': 'same-origin' },
    body: { email: ada, password: passwordOf(ada) },
  });
  const elsewhere = served.visitor();
  elsewhere.cookie = (login.headers['set-cookie'] ?? '').split(';')[0] as string;
  elsewhere.csrfToken = login.body.csrfToken;
  const third = served.visitor();
  await third.logIn(ada);
  const page = await elsewhere.token();
  const listed = await owner.send('/sessions');
  t.equal(listed.body.sessions.length, 3);
  const found = listed.body.sessions.find(
    ({ browser }: { browser: string }) => browser === 'Firefox on Linux',
  );
  t.match(found, { isCurrent: false, address: '127.0.0.1', createdAt: /^\d{4}/, usedAt: /^\d{4}/ });
  t.equal(listed.body.sessions.filter(({ isCurrent }: { isCurrent: boolean }) => isCurrent).length, 1);
  for (const { cookie } of [owner, elsewhere, third])
    t.notOk(listed.text.includes((cookie as string).split('=')[1] as string), 'no cookie');
  t.equal((await owner.send(`/sessions/${found.id}`, undefined, 'DELETE')).status, 204);
  t.equal((await elsewhere.send('/session')).body.account, null);
  t.equal(await principalOf(served, page), null);
  t.equal((await owner.send('/sessions', undefined, 'DELETE')).status, 204);
  t.equal((await third.send('/session')).body.account, null);
  const [mine] = (await owner.send('/sessions')).body.sessions;
  t.ok(mine.isCurrent);
  const out = await owner.send(`/sessions/${mine.id}`, undefined, 'DELETE');
  t.match(out.headers['set-cookie'], /Max-Age=0/);
  t.equal((await served.ask({ path: '/sessions' })).status, 401);
});
