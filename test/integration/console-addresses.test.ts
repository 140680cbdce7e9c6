/** Another e-mail address for an account, and accounts that are closed: whose address it is, and who learns that. */
import t from 'tap';
import { AccountRemovals } from '#catalogue/account-removals.ts';
import { userIdOf } from '#catalogue/users.ts';
import { removeAccount } from '#console/accounts/remove-account.ts';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import { passwordOf, serveConsole, type Visitor } from '../services/console-harness.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';

const [ada, ben, next] = ['ada@example.com', 'ben@example.com', 'lovelace@example.com'] as const;
const accountOf = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.send('/session')).body.account?.email;
const change = (visitor: Visitor, email: string, password = passwordOf(ada)) =>
  visitor.send('/email', { email, password });

t.test('another address ends all sessions but this one, and is the one to log in with', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const here = one.visitor();
  await here.register(ada);
  const there = two.visitor();
  await there.logIn(ada);
  const page = await there.token();
  const before = here.cookie;
  t.equal((await change(here, next, 'wrong')).body.code, 'wrong_password');
  t.equal((await change(here, 'no address')).status, 400);
  t.equal(await accountOf(there), ada);
  t.equal((await change(here, ` ${next.toUpperCase()} `)).status, 204);
  t.not(here.cookie, before);
  t.equal(await accountOf(here), next);
  t.equal(await accountOf(there), undefined);
  t.equal(await one.store.findToken(page), null);
  t.equal((await two.visitor().logIn(ada)).status, 401);
  t.equal((await two.visitor().logIn(next, passwordOf(ada))).status, 200);
  // the account was made with this address, which stays its own
  t.equal((await two.visitor().register(ada)).status, 403);
  t.equal((await change(here, ada)).status, 204);
  t.equal(await accountOf(here), ada);
  t.equal((await two.visitor().register(next)).status, 201, 'an address that was given back');
});

t.test('an address that is taken is refused like one that can not be used, a few times', async (t) => {
  const served = await serveConsole(t, await openMigratedChdb(t));
  const visitor = served.visitor();
  await visitor.register(ada);
  await served.visitor().register(ben);
  const answers = [];
  for (const email of [ben, 'developer@localhost', ada]) answers.push(await change(visitor, email));
  for (const { status, body } of answers) {
    t.equal(status, 403);
    t.equal(body.message, answers[0]?.body.message);
    t.equal(body.code, 'email_refused');
  }
  await change(visitor, ben);
  t.equal((await change(visitor, ben)).status, 429, 'nobody tries a list of addresses');
  t.equal((await change(visitor, next)).status, 429);
  t.equal(await accountOf(visitor), ada);
});

t.test('of two accounts that want one address at once, one gets it', async (t) => {
  const stores = await openMigratedChdb(t);
  const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
  const [a, b] = [one.visitor(), two.visitor()];
  await a.register(ada);
  await b.register(ben);
  const third = two.visitor();
  const answers = await Promise.all([
    change(a, next),
    change(b, next, passwordOf(ben)),
    third.register(next),
  ]);
  t.equal(answers.filter(({ status }) => status < 300).length, 1, answers.map(({ status }) => status).join());
  const owners = [await accountOf(a), await accountOf(b), await accountOf(third)];
  t.equal(owners.filter((email) => email === next).length, 1);
});

t.test(
  'with a mailer the address is confirmed, and the answer is the same for one that is taken',
  async (t) => {
    let ahead = 0;
    const sent: { to: string; link: string }[] = [];
    const send = async (notice: { to: string; link: string }) => void sent.push(notice);
    const served = await serveConsole(t, await openMigratedChdb(t), { send, ahead: () => ahead });
    const visitor = served.visitor();
    await visitor.register(ada);
    await served.visitor().register(ben);
    const tokenOf = (index: number): string => (sent[index]?.link ?? '').split('#')[1] ?? '';
    const confirm = (token: string) => served.visitor().send('/email/confirm', { token });
    const free = await change(visitor, next);
    t.match(free, { status: 202, body: { isSent: true } });
    t.match(sent, [{ to: next, link: /^https:\/\/console\.test\/confirm-email#sluice_link_/ }]);
    t.equal(await accountOf(visitor), ada, 'not before it is confirmed');
    t.equal((await change(visitor, next)).status, 429, 'no flood of mails');
    ahead += 61_000;
    const taken = await change(visitor, ben);
    t.equal(taken.text, free.text);
    t.equal(taken.status, free.status);
    t.equal((await confirm(tokenOf(0))).status, 403, 'an earlier link is void');
    t.equal((await confirm(tokenOf(1))).body.code, 'email_refused', 'whoever has the mail learns of it');
    ahead += 61_000;
    await change(visitor, next);
    ahead += 16 * 60_000;
    t.equal((await confirm(tokenOf(2))).status, 403, 'late');
    await change(visitor, next);
    t.equal((await confirm(tokenOf(3))).status, 204);
    t.equal((await confirm(tokenOf(3))).status, 403, 'twice');
    t.equal(await accountOf(visitor), undefined, 'all sessions ended');
    t.equal((await served.visitor().logIn(next, passwordOf(ada))).status, 200);
    t.equal((await visitor.send('/invitation', { token: tokenOf(3) })).status, 403, 'it is no invitation');
  },
);

t.test('another password ends a change of the address that is not confirmed', async (t) => {
  const links: string[] = [];
  const send = async ({ link }: { readonly link: string }): Promise<void> => void links.push(link);
  const served = await serveConsole(t, await openMigratedChdb(t), { send });
  const visitor = served.visitor();
  await visitor.register(ada);
  t.equal((await change(visitor, next)).status, 202);
  const passwords = { current: passwordOf(ada), next: 'another password' };
  t.equal((await visitor.send('/password', passwords)).status, 204);
  const token = links[0]?.split('#')[1];
  t.equal((await served.visitor().send('/email/confirm', { token })).status, 403);
  t.equal(await accountOf(visitor), ada);
});

t.test(
  'a deleted account is refused in every process, and its address begins an account with another id',
  async (t) => {
    const stores = await openMigratedChdb(t);
    const [one, two] = await Promise.all([serveConsole(t, stores), serveConsole(t, stores)]);
    const owner = one.visitor();
    await owner.register(ada);
    const made = (await owner.send('/tokens', { name: 'of ada' })).body;
    const { signal } = new AbortController();
    t.equal((await change(owner, next)).status, 204);
    t.equal(await accountOf(owner), next);
    t.equal(typeof (await two.tokenCheck.check(made.token, signal)), 'object');
    const wrong = { email: next, password: 'wrong' };
    t.equal((await owner.send('/account/delete', wrong)).body.code, 'wrong_password');
    t.equal((await owner.send('/account/delete', { email: ada, password: passwordOf(ada) })).status, 400);
    const deleted = await owner.send('/account/delete', { email: next, password: passwordOf(ada) });
    t.equal(deleted.status, 204);
    t.match(deleted.headers['set-cookie'], /Max-Age=0/);
    t.equal(await one.tokenCheck.check(made.token, signal), 'revoked');
    await eventuallyEqual(
      t,
      () => two.tokenCheck.check(made.token, signal),
      'revoked',
      'heard by the other process',
    );
    t.equal((await two.visitor().logIn(next, passwordOf(ada))).status, 401);

    const id = userIdOf(ada);
    const removals = new AccountRemovals({
      ...stores,
      closed: one.closed,
      locks: ownLocks(),
      log: one.log,
      heardAfter: 0,
      grace: 0,
    });
    t.teardown(() => removals.close());
    const passes: boolean[] = [];
    const usage = { removeAll: async () => {} };
    const remove = removeAccount({ ...one, sessions: one.store, usage });
    removals.add('account', async (account, stop, isLast) => {
      if (passes.push(isLast) === 1) throw new Error('the first try fails');
      await remove(account, stop, isLast);
    });
    removals.start();
    // a failed part is tried again by the next search, or when an account is closed
    await eventuallyEqual(t, () => passes.length, 1);
    one.closed.onClosed();
    await eventuallyEqual(t, async () => (await one.tokens.list(id)).length, 0, 'its tokens are gone');
    for (const [email, generation] of [
      [ada, 1],
      [next, 1],
    ] as const) {
      const visitor = two.visitor();
      await eventuallyEqual(t, async () => (await visitor.register(email)).status, 201);
      t.equal((await visitor.send('/session')).body.account.id, userIdOf(email, generation));
    }
  },
);
