/** Invitations and confirmations of addresses by a real SMTP server. */
import t from 'tap';
import { mailNotices } from '#console/accounts/notices.ts';
import { passwordOf, serveConsole } from '../services/console-harness.ts';
import { startMailServer } from '../services/mail-server.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { silentLog } from '../services/silent-log.ts';

const [ada, ben, next] = ['ada@example.com', 'ben@example.com', 'lovelace@example.com'] as const;
const tokenIn = (text: string): string => /https:\/\/console\.test\S*#([\w.-]+)/.exec(text)?.[1] ?? '';

t.test('links come by mail', async (t) => {
  const mails = await startMailServer();
  t.teardown(() => mails.close());
  const send = mailNotices({ url: mails.url, from: 'Sluice <sluice@example.com>' }, silentLog());
  const served = await serveConsole(t, await openMigratedChdb(t), { send });
  const owner = served.visitor();
  await owner.register(ada);
  const invited = await owner.send('/invitations', { email: ben });
  t.match(invited, { status: 201, body: { isSent: true } });
  const invitation = await mails.next(ben);
  t.match(invitation.subject, ada);
  t.match(tokenIn(invitation.text), /^\S{20,}$/);
  const visitor = served.visitor();
  t.equal((await visitor.register(ben)).status, 201);
  const accepted = await visitor.send('/invitation/accept', { token: tokenIn(invitation.text) });
  t.equal(accepted.status, 200);

  const changed = await owner.send('/email', { email: next, password: passwordOf(ada) });
  t.match(changed, { status: 202, body: { isSent: true } });
  const confirmation = await mails.next(next);
  const confirmed = await served.visitor().send('/email/confirm', { token: tokenIn(confirmation.text) });
  t.equal(confirmed.status, 204);
  t.equal((await served.visitor().logIn(next, passwordOf(ada))).status, 200);
});

t.test('a mail that is refused leaves the link to the page', async (t) => {
  const mails = await startMailServer();
  t.teardown(() => mails.close());
  const log = silentLog();
  const send = mailNotices({ url: mails.url, from: 'Sluice <sluice@example.com>' }, log);
  const served = await serveConsole(t, await openMigratedChdb(t), { send });
  const owner = served.visitor();
  await owner.register(ada);
  mails.replies.push(550);
  const invited = await owner.send('/invitations', { email: ben });
  t.match(invited, { status: 201, body: { isSent: false } });
  t.match(invited.body.token, /^\S{20,}$/);
});
