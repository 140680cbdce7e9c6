/** Settings of sign-up in the rules of a space, the texts of mails, and limits. */
import t from 'tap';
import type { Webhooks } from '#events/webhooks.ts';
import { filledText } from '#query/login/mail-texts.ts';
import { type MailServer, startMailServer } from '../services/mail-server.ts';
import { queryHarnessFor, refusal, testWebhooks } from '../services/query-harness.ts';
import { openSignUpApp, publishable, signUpRules } from '../services/sign-up-app.ts';

const server: MailServer = await startMailServer();
let time = Date.now();
const later = (seconds: number): void => {
  time += seconds * 1000;
};
const all: Webhooks[] = [];
let hasSmtp = true;
/** What the throttle counted: the identity, and whether the attempt failed. */
const counted: { readonly key: string; readonly failed: boolean }[] = [];
const harness = await queryHarnessFor(t, {
  throttle: {
    async run(key, attempt) {
      const result = await attempt();
      counted.push({ key, failed: result === null });
      return result;
    },
  },
  freshness: { heardAfter: 0 },
  config: { mailsPerHour: 60 },
  now: () => time,
  webhooks: (db) => {
    const smtp = { url: server.url, from: 'wall@example.com' };
    const made = testWebhooks({ db, singleWriter: true, ...(hasSmtp && { smtp }), delayAfter: () => 1 });
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
const denied = { ...refusal('not_allowed'), status: 403 };
const limited = { ...refusal('rate_limited'), status: 429 };

t.test('settings that do not fit are refused, and all problems named', async (t) => {
  const page = 'https://app.example.com/verify';
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [[], /signUp should be an object/],
    ['users', /signUp should be an object/],
    [{ other: 1 }, /signUp has no "?'?other/],
    [{ email: 'nothing' }, /signUp.email names/],
    [{ email: 'name2' }, /should be a TEXT that is unique/],
    [{ email: 'password' }, /should be a TEXT that is unique/],
    [{ password: 'email' }, /should be a TEXT that is hashed/],
    [{ verified: 'email' }, /should be a BOOLEAN/],
    [{ verified: 'welcome' }, /not true by default/],
    [{ required: true }, /needs signUp.verified/],
    [{ verified: 'verified', required: 1 }, /should be true or false/],
    [{ app: '' }, /signUp.app/],
    [{ app: 'a\r\nBcc: eve@example.com' }, /signUp.app/],
    [{ app: 'a'.repeat(61) }, /signUp.app/],
    [{ webhook: 'mailto:' }, /signUp.webhook/],
    [{ webhook: 'file:///etc/passwd' }, /signUp.webhook/],
    [{ webhook: 'https://user:password@example.com' }, /signUp.webhook/],
    [{ pages: [] }, /signUp.pages/],
    [{ pages: { other: page } }, /signUp.pages has no/],
    [{ pages: { verifyEmail: 'http://app.example.com/verify' } }, /https address/],
    [{ pages: { verifyEmail: `${page}#x` } }, /https address/],
    [{ pages: { verifyEmail: `${page}#` } }, /https address/],
    [{ pages: { verifyEmail: '/verify' } }, /https address/],
    [{ pages: { verifyEmail: 'javascript:alert(1)' } }, /https address/],
    [{ pages: { verifyEmail: 'https://a@app.example.com' } }, /https address/],
    [{ pages: { verifyEmail: `${page}\n` } }, /https address/],
    [{ mails: [] }, /signUp.mails should be an object/],
    [{ mails: { other: {} } }, /signUp.mails has no/],
    [{ mails: { verifyEmail: 'text' } }, /should be an object with subject and text/],
    [{ mails: { verifyEmail: { html: '' } } }, /only subject, text/],
    [{ mails: { verifyEmail: { subject: 'a\nBcc: eve@example.com' } } }, /control characters/],
    [{ mails: { verifyEmail: { subject: '' } } }, /subject should be a text/],
    [{ mails: { verifyEmail: { text: 'a\0 {code}' } } }, /control characters/],
    [{ mails: { verifyEmail: { text: '{code}'.repeat(1000) } } }, /up to 5000/],
    [{ mails: { verifyEmail: { text: 'Hello' } } }, /should have \{link\} or \{code\}/],
    [{ mails: { verifyEmail: { text: '{code} {email}' } } }, /placeholders are/],
    [{ mails: { verifyEmail: { text: '{link}' } } }, /names no page/],
    [{ mails: { verifyEmail: { subject: '{code}' } } }, /subject should not have/],
  ];
  const fields =
    'email TEXT unique, password TEXT hashed, verified BOOLEAN, welcome BOOLEAN, name2/name2 TEXT';
  const space = await openSignUpApp(harness, { project: 'settings', fields, rules: { insert: true } });
  const structure = JSON.parse(space.users.structure);
  structure.recordStructure.find(({ slug }: { slug: string }) => slug === 'welcome').defaultValue = true;
  await harness.call({ path: '/settings/users/set-structure', body: structure });
  for (const [signUp, problem] of refused)
    t.match(
      await space.setRules({ signUp }),
      refusal('invalid_rules', problem),
      JSON.stringify(signUp).slice(0, 80),
    );
  t.match(await space.setRules({ signUp: { app: 1, email: 'x', pages: 1 } }), { problems: { length: 3 } });
  t.match(
    await space.setRules({ set: { verified: true }, signUp: { verified: 'verified' } }),
    refusal('invalid_rules', /which signUp sets/),
  );
  for (const signUp of [null, {}, { pages: { verifyEmail: 'http://localhost:3000/a?b=c' } }])
    t.match(await space.setRules({ signUp }), { status: 200, body: { rules: { signUp } } });
});

t.test('a structure that no longer fits is refused, and opens nothing', async (t) => {
  const lost = await openSignUpApp(harness, { project: 'lost' });
  await lost.signUp({ email: 'a@example.com', password: 'x' });
  await harness.call({ method: 'DELETE', path: '/_projects_/lost/spaces/users/fields/verified' });
  t.match(await lost.login('a@example.com', 'x'), denied, 'an address that nobody verified');
  for (const ask of [lost.signUp, lost.resetPassword]) t.match(await ask({ email: 'a@example.com' }), denied);
});

t.test('texts of the application, with placeholders filled in once', async (t) => {
  const mails = {
    verifyEmail: { subject: 'Bienvenue à {app} ✓', text: 'Bonjour,\n\n{link}\n{code}\n$& {app}' },
  };
  const signUp = { ...signUpRules.signUp, app: 'Mur {code}', mails };
  await app.setRules({ ...signUpRules, signUp });
  await app.signUp({ email: 'fr@example.com', password: 'x' });
  const { text, raw, code } = await server.next('fr@example.com');
  t.match(raw, /^Subject: =\?UTF-8\?/m);
  t.match(text, `{code}`);
  t.ok(text.startsWith('Bonjour,\n\nhttps://wall.example.com/verify#token='));
  t.ok(text.includes(`${code}\n$& Mur {code}`));
  t.strictSame(
    filledText({ subject: '{app}', text: '{link} {x}' }, { app: '{link}', link: '$1', code: '' }),
    {
      subject: '{link}',
      text: '$1 {x}',
    },
  );
  await app.setRules(signUpRules);
});

t.test('a request does not say where a link leads', async (t) => {
  const headers = {
    host: 'evil.example.com',
    origin: 'https://evil.example.com',
    referer: 'https://evil.example.com/',
    'x-forwarded-host': 'evil.example.com',
  };
  t.match(await app.resetPassword({ email: 'fr@example.com' }, { headers }), sent);
  t.notMatch((await server.next('fr@example.com')).raw, 'evil');
  const more = { email: 'fr@example.com', redirect: 'https://evil.example.com' };
  t.match(await app.resetPassword(more, { headers }), refusal('invalid_body', /redirect/));
});

t.test('hostile addresses are refused alike, by all three', async (t) => {
  const addresses = [
    ...['', ' ', 'ada', 'ada@localhost', 'a@example.com,b@example.com', 'Ada <ada@example.com>'],
    ...['ada@example.com\r\nBcc: eve@example.com', 'ada@example.com\0', `${'a'.repeat(300)}@example.com`],
  ];
  for (const email of addresses) {
    t.match(await app.signUp({ email, password: 'x' }), { status: 400 }, JSON.stringify(email));
    t.match(await app.resetPassword({ email }), { status: 400 }, JSON.stringify(email));
    t.match(await app.verifyEmail({ email }), { status: 400 }, JSON.stringify(email));
  }
});

t.test('a field that ignores case keeps one user and one limit for an address', async (t) => {
  const fields = 'email TEXT unique, password TEXT hashed, verified BOOLEAN';
  const space = await openSignUpApp(harness, { project: 'cases', fields });
  const structure = JSON.parse(space.users.structure);
  structure.recordStructure[0].normalize = ['trim', 'lower'];
  t.match(await harness.call({ path: '/cases/users/set-structure', body: structure }), { status: 200 });
  t.match(await space.signUp({ email: ' Ada@Example.COM ', password: 'x' }), sent);
  t.ok(await server.next('ada@example.com'));
  t.match(await space.resetPassword({ email: 'ADA@example.com ' }), sent);
  t.ok(await server.next('ada@example.com'));
  await space.resetPassword({ email: 'ada@example.com' });
  t.match(await space.resetPassword({ email: 'aDa@example.com' }), limited);
});

t.test('mails are limited by address and by sender, whether the address has a user or not', async (t) => {
  await app.signUp({ email: 'known@example.com', password: 'x' });
  for (const email of ['known@example.com', 'unknown@example.com']) {
    if (email.startsWith('un')) await app.resetPassword({ email });
    for (let i = 0; i < 2; i++) t.match(await app.resetPassword({ email }), sent);
    t.match(await app.resetPassword({ email }), limited, email);
    t.match(await app.verifyEmail({ email }), limited, 'for all functions together');
    t.match(await app.signUp({ email, password: 'y' }), limited);
  }
  later(299);
  t.match(await app.resetPassword({ email: 'known@example.com' }), limited);
  later(2);
  t.match(await app.resetPassword({ email: 'known@example.com' }), sent, 'one more after five minutes');
  later(3600);
  const one = { address: '192.0.2.1' };
  for (let i = 0; i < 20; i++)
    t.match(await app.resetPassword({ email: `user-${i}@example.com` }, one), sent);
  t.match(await app.resetPassword({ email: 'user-20@example.com' }, one), limited);
  t.match(await app.resetPassword({ email: 'user-20@example.com' }, { address: '192.0.2.2' }), sent);
  const serverSide = { ...one, headers: { 'test-grants': '' } };
  t.match(
    await app.resetPassword({ email: 'user-21@example.com' }, serverSide),
    sent,
    'a server has no sender',
  );
});

t.test('mails are limited by account, and another account is not held up', async (t) => {
  later(7200);
  const other = await openSignUpApp(harness, { owner: 'another' });
  const answers = [];
  for (let i = 0; i < 61; i++) answers.push(await app.resetPassword({ email: `many-${i}@example.com` }));
  t.equal(answers.filter(({ status }) => status === 202).length, 60);
  t.match(answers.at(-1), limited);
  t.match(await other.resetPassword({ email: 'many@example.com' }), sent);
});

t.test('mails that are sent again count, for the address and the account', async (t) => {
  later(7200);
  const owner = 'a third';
  const third = await openSignUpApp(harness, { owner });
  const [webhooks] = all.slice(-1);
  const { signal } = new AbortController();
  /** The newest mail of the account, once it is sent. */
  const ended = async () => {
    for (;;) {
      const [first] = (await webhooks?.recent({ ownerId: owner }, 1, signal)) ?? [];
      if (first !== undefined && first.state !== 'pending') return first;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const sendAgain = async (): Promise<unknown> => {
    const { id } = await ended();
    return webhooks?.sendAgain({ ownerId: owner }, id, signal).catch(({ code }) => code);
  };
  t.match(await third.resetPassword({ email: 'again@example.com' }), sent);
  for (let i = 0; i < 2; i++) t.match(await sendAgain(), { state: 'pending' });
  t.equal(await sendAgain(), 'rate_limited', 'three for an address');
  t.match(await third.resetPassword({ email: 'again@example.com' }), limited);
  const answers = [];
  for (let i = 0; i < 57; i++) answers.push(await third.resetPassword({ email: `again-${i}@example.com` }));
  t.equal(answers.filter(({ status }) => status === 202).length, 57);
  t.equal(await sendAgain(), 'rate_limited', 'sixty for an account');
});

t.test('guesses of codes are throttled like logins, whether the address has a user or not', async (t) => {
  later(7200);
  await app.signUp({ email: 'guessed@example.com', password: 'x' });
  const { code } = await server.next('guessed@example.com');
  for (const email of ['guessed@example.com', 'nobody@example.com']) {
    counted.length = 0;
    await app.login(email, 'wrong');
    const [login] = counted.slice(-1);
    t.match(login, { failed: true });
    counted.length = 0;
    t.match(await app.verifyEmail({ email, code: 'AAAA-AAAA' }), { status: 403, code: 'link_refused' });
    t.match(await app.resetPassword({ email, code, password: 'y' }), { status: 403, code: 'link_refused' });
    t.strictSame(counted, [login, login], 'as the same identity');
  }
  counted.length = 0;
  t.match(await app.verifyEmail({ email: 'guessed@example.com', code }), { status: 200 });
  t.match(counted, [{ failed: false }]);
});

t.test('without a way to send mails nothing is promised', async (t) => {
  hasSmtp = false;
  const lacking = await openSignUpApp(harness.another(), { project: 'lacking' });
  const missing = { status: 501, code: 'not_implemented' };
  const words = "This server can't send e-mail: set SMTP_URL, or signUp.webhook in the rules";
  t.match(await lacking.signUp({ email: 'a@example.com', password: 'x' }), { ...missing, problems: [words] });
  t.strictSame((await lacking.setRules(signUpRules)).body.warnings, [words]);
  t.match(await lacking.users.count(), { body: { count: 0 } });
  for (const ask of [lacking.resetPassword, lacking.verifyEmail])
    t.match(await ask({ email: 'a@example.com' }), missing);
  await lacking.setRules({
    ...signUpRules,
    signUp: { ...signUpRules.signUp, webhook: 'https://hooks.example.com' },
  });
  t.match(await lacking.resetPassword({ email: 'a@example.com' }), sent);
});

t.test('warnings', async (t) => {
  hasSmtp = true;
  const space = await openSignUpApp(harness.another(), { project: 'warned' });
  const warningsOf = async (rules: object) =>
    (await space.setRules({ ...signUpRules, ...rules })).body.warnings;
  t.strictSame(await warningsOf({}), [], 'an insert without a sign-up lacks the address');
  t.match(await warningsOf({ signUp: {} }), [/^Everybody can insert records/]);
  const refusedAlways = ['Each sign-up is refused: insert does not allow visitors without a login'];
  t.strictSame(await warningsOf({ insert: false }), refusedAlways);
  t.strictSame(await warningsOf({ insert: { name: '$user.name' } }), refusedAlways);
  const webhook = (address: string) => warningsOf({ signUp: { ...signUpRules.signUp, webhook: address } });
  for (const address of ['http://10.1.2.3/mails', 'http://[::1]:8000/mails'])
    t.match(await webhook(address), [/^signUp.webhook leads into a private network/], address);
  t.strictSame(await webhook('https://hooks.example.com'), []);
  const optional = await openSignUpApp(harness.another(), {
    project: 'optional',
    fields: 'email TEXT unique, password TEXT hashed, verified BOOLEAN',
  });
  t.match((await optional.setRules(signUpRules)).body.warnings, [/^Everybody can insert records/]);
});

t.test('grants and spaces of an access token hold', async (t) => {
  const call = (name: string, grants: object) =>
    harness.call({
      path: `/wall/function/${name}`,
      headers: {
        'test-grants': JSON.stringify(grants),
        'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] }),
      },
      body: { email: 'g@example.com' },
    });
  for (const name of ['sign-up', 'verify-email', 'reset-password']) {
    const refused = { status: 403, code: 'not_granted' };
    t.match(await call(name, { may: ['find'] }), refused);
    t.match(await call(name, { spaces: ['other'] }), refused);
    t.match(await call(name, { projects: ['other'] }), refused);
    t.match(await call(name, { publishable: true, origins: ['*'], spaces: ['other'] }), refused);
  }
  t.match(
    await harness.call({
      path: '/wall/function/reset-password',
      headers: {
        ...publishable,
        'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'no' }] }),
      },
      body: { email: 'g@example.com' },
    }),
    denied,
    'a space that does not exist looks like one without rules',
  );
});
