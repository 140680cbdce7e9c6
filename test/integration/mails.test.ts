/** Mails: how they are sent by SMTP or a webhook, what is retried, and what survives. */
import { readFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import t, { type Test } from 'tap';
import type { Delivery } from '#events/delivery.ts';
import type { Webhooks, WebhooksDeps } from '#events/webhooks.ts';
import { createSendBySmtp } from '#kernel/mail/send-by-smtp.ts';
import type { Mail, PromisedMail } from '#kernel/record-events/mail.ts';
import { certificateFor } from '../services/certificate.ts';
import { startMailServer } from '../services/mail-server.ts';
import { openQueryHarness, testWebhooks } from '../services/query-harness.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const harness = await openQueryHarness();
t.teardown(() => harness.close());
const { signal: never } = new AbortController();
const from = 'Photo wall <wall@example.com>';
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');

const mail: Mail = { to: 'ada@example.com', subject: 'Hello', text: 'Text', link: null, code: 'K7QM-4XWP' };
const unlimited = async (): Promise<void> => {};
const attempt = { ...mail, id: 'the-delivery', account: 'owner' };

/** Of an account of the test. */
function promised(owner: string, more: Partial<PromisedMail> = {}): PromisedMail {
  return {
    purpose: 'verifyEmail',
    ownerId: owner,
    spaceId: 'the-space',
    project: 'wall',
    space: 'users',
    address: 'ada@example.com',
    webhook: null,
    ...more,
  };
}

function openMails(t: Pick<Test, 'teardown'>, deps: Partial<WebhooksDeps>): Webhooks {
  const made = testWebhooks({
    db: harness.db,
    singleWriter: true,
    allowed: loopback,
    delayAfter: () => 1,
    ...deps,
  });
  t.teardown(() => made.close());
  return made;
}

async function stateOf(mails: Webhooks, owner: string, isSo: (delivery: Delivery) => boolean) {
  for (;;) {
    const [first] = await mails.recent({ ownerId: owner }, 10, never);
    if (first !== undefined && isSo(first)) return first;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const ended = ({ state }: Delivery) => state !== 'pending';

t.test('one mail by SMTP', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const send = createSendBySmtp({ url: server.url, from });
  t.match(await send(attempt, never), { delivered: true, status: 250 });
  const { raw, ...received } = await server.mail(0);
  t.match(received, { to: ['ada@example.com'], from: 'wall@example.com', subject: 'Hello', isSecure: false });
  t.equal(received.text.trim(), 'Text');
  t.match(raw, /^Message-ID: <the-delivery@example\.com>\r$/m);
  t.match(raw, /^From: Photo wall <wall@example\.com>\r$/m);
});

t.test('nothing in a mail becomes a header or a recipient', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const send = createSendBySmtp({ url: server.url, from });
  const hostile = [
    { to: 'ada@example.com, eve@example.com' },
    { to: 'ada@example.com\r\nBcc: eve@example.com' },
    { to: 'ada@example.com>\r\nRCPT TO:<eve@example.com' },
    { to: 'friends: ada@example.com, eve@example.com;' },
  ];
  for (const one of hostile) await send({ ...attempt, ...one }, never);
  for (const { to, raw } of server.received) {
    t.equal(to.length, 1, 'one recipient');
    t.notMatch(raw, /^bcc:/im);
  }
  t.notOk(server.asked.includes('eve@example.com'));
  const before = server.received.length;
  const subject = 'Hello\r\nBcc: eve@example.com\r\n\r\nother text';
  await send({ ...attempt, subject, text: 'x\r\n.\r\nQUIT\r\nBcc: eve@example.com' }, never);
  const { raw, to } = await server.mail(before);
  t.strictSame(to, ['ada@example.com']);
  t.notMatch(raw.slice(0, raw.indexOf('\r\n\r\n')), /^bcc:/im);
});

t.test('STARTTLS and a login, and never in the clear over a network', async (t) => {
  const { keyFile, ca: cert } = await certificateFor(t);
  const key = await readFile(keyFile);
  const server = await startMailServer({
    ...{ key, cert, authOptional: false, disabledCommands: [] },
    onAuth({ username, password }, _session, callback) {
      const isRight = username === 'wall' && password === 'p@ss/word';
      callback(isRight ? null : new Error('wrong'), isRight ? { user: 'wall' } : undefined);
    },
  });
  t.teardown(() => server.close());
  const address = `wall:p%40ss%2Fword@127.0.0.1:${server.port}`;
  const right = createSendBySmtp({ url: `smtp://${address}?tls.rejectUnauthorized=false`, from });
  t.match(await right(attempt, never), { delivered: true });
  t.match(await server.mail(0), { isSecure: true, user: 'wall' });
  const checked = createSendBySmtp({ url: `smtp://${address}`, from });
  t.match(await checked(attempt, never), { delivered: false, problem: /ESOCKET|ETLS/ }, 'an unknown issuer');
  const wrong = createSendBySmtp({
    url: `smtp://wall:no@127.0.0.1:${server.port}?tls.rejectUnauthorized=false`,
    from,
  });
  const outcome = await wrong(attempt, never);
  t.match(outcome, { delivered: false, status: 535 });
  t.notOk(outcome.isFinal, 'the password of the server may be corrected');

  const plain = await startMailServer();
  t.teardown(() => plain.close());
  // an address that leads to this machine, but does not look like it
  const url = `smtp://[::ffff:127.0.0.1]:${plain.port}`;
  t.match(await createSendBySmtp({ url, from })(attempt, never), {
    delivered: false,
    problem: /ETLS|answered/,
  });
  t.equal(plain.received.length, 0);
  const allowed = createSendBySmtp({ url: `${url}?requireTLS=false`, from });
  t.match(await allowed(attempt, never), { delivered: true }, 'unless the operator says so');
});

t.test('a server that refuses, hangs, or is not there', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const send = createSendBySmtp({ url: server.url, from, limit: 500 });
  server.replies.push(450, 550, 'nothing');
  const later = await send(attempt, never);
  t.match(later, { delivered: false, status: 450, problem: 'answered 450' });
  t.notOk(later.isFinal);
  t.match(await send(attempt, never), { delivered: false, status: 550, isFinal: true });
  t.match(await send(attempt, never), { delivered: false, status: 0 }, 'it has a deadline');
  t.match(await send(attempt, never), { delivered: true }, 'and holds up nothing');
  const stop = new AbortController();
  server.replies.push('nothing');
  const patient = createSendBySmtp({ url: server.url, from })(attempt, stop.signal);
  await server.askedFor(5);
  stop.abort(new Error('the process stops'));
  t.match(await patient, { delivered: false });
  await server.close();
  const gone = await send(attempt, never);
  t.match(gone, { delivered: false, status: 0, problem: /ECONN|ESOCKET/ });
  t.notOk(gone.isFinal);
});

t.test('a promised mail is retried after 4xx, and ends at 5xx', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const mails = openMails(t, { smtp: { url: server.url, from } });
  mails.makeMails(async () => mail, unlimited);
  server.replies.push(450, 421, 'ok');
  await mails.promise(promised('patient'));
  t.match(await stateOf(mails, 'patient', ended), {
    ...{ state: 'delivered', attempts: 3, event: 'mail.verifyEmail', url: 'mailto:' },
    recordIds: ['ada@example.com'],
  });
  server.replies.push(550);
  await mails.promise(promised('refused'));
  t.match(await stateOf(mails, 'refused', ended), { state: 'failed', attempts: 1, problem: 'answered 550' });
  t.equal(server.received.length, 1);
});

t.test('a mail that has no user is not sent, and slows down no other', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  // of an address that was down, calls begin once in ten minutes
  const mails = openMails(t, { smtp: { url: server.url, from }, limits: { gap: 600_000, failures: 2 } });
  mails.makeMails(
    async ({ address }) => (address.startsWith('no') ? 'no user has this address' : mail),
    unlimited,
  );
  for (const number of [1, 2, 3, 4])
    await mails.promise(promised('mixed', { address: `no-${number}@example.com` }));
  await mails.promise(promised('mixed'));
  await server.mail(0);
  for (let all: readonly Delivery[] = []; all.length < 5 || !all.every(ended); )
    all = await mails.recent({ ownerId: 'mixed' }, 10, never);
  t.strictSame(server.asked, ['ada@example.com']);
  const [sent, ...failed] = await mails.recent({ ownerId: 'mixed' }, 10, never);
  t.match(sent, { state: 'delivered' });
  t.equal(failed.length, 4);
  for (const one of failed) t.match(one, { state: 'failed', problem: 'no user has this address' });
});

t.test('a promise survives its process, and holds nothing secret', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const first = openMails(t, { smtp: { url: server.url, from } });
  first.makeMails(async () => mail, unlimited);
  // as after kill -9: it sends nothing any more
  await first.close();
  await first.promise(promised('killed'));
  const stored = await harness.db.rows<{ content: string }>({
    sql: `SELECT content FROM sluice.webhook_calls FINAL WHERE owner_id = 'killed'`,
  });
  t.strictSame(JSON.parse(stored[0]?.content ?? ''), promised('killed'));
  const second = openMails(t, { smtp: { url: server.url, from } });
  await second.start();
  t.equal(server.received.length, 0, 'it waits for the maker of mails');
  second.makeMails(async () => mail, unlimited);
  await server.mail(0);
  t.match(await stateOf(second, 'killed', ended), { state: 'delivered' });
});

t.test('of two processes, the one that promised a mail sends it, once', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const shared = { singleWriter: false, smtp: { url: server.url, from } };
  const both = [openMails(t, shared), openMails(t, shared)];
  for (const one of both) {
    one.makeMails(async ({ address }) => ({ ...mail, to: address }), unlimited);
    await one.start();
  }
  const addresses = Array.from({ length: 20 }, (_, index) => `user-${index}@example.com`);
  await Promise.all(
    addresses.map((address, index) => (both[index % 2] as Webhooks).promise(promised('both', { address }))),
  );
  await server.mail(19);
  for (const one of both) await one.close();
  t.strictSame(server.received.map(({ to }) => to[0]).sort(), addresses.sort());
});

t.test('mails to one address come in the order of their requests', async (t) => {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const mails = openMails(t, { smtp: { url: server.url, from } });
  let made = 0;
  mails.makeMails(async () => ({ ...mail, subject: `Mail ${made++}` }), unlimited);
  server.replies.push(450);
  for (let i = 0; i < 3; i++) await mails.promise(promised('ordered'));
  await server.mail(2);
  t.strictSame(
    server.received.map(({ subject }) => subject),
    ['Mail 1', 'Mail 2', 'Mail 3'],
    'each attempt has a mail of its own',
  );
});

t.test('a webhook gets the mail, signed, and made anew for each attempt', async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const mails = openMails(t, {});
  t.notOk(mails.hasSmtp);
  let made = 0;
  mails.makeMails(async () => ({ ...mail, code: `${made++}` }), unlimited);
  receiver.answers.push(500);
  await mails.promise(promised('hooked', { webhook: `${receiver.url}/mails` }));
  await receiver.count(2);
  t.match(receiver.received, [{ body: { code: '0' } }, { body: { code: '1' } }]);
  const [, last] = receiver.received;
  t.match(last?.headers, { 'webhook-id': String, 'webhook-signature': /^v1,/ });
  t.strictSame(last?.body, {
    ...{
      deliveryId: last?.headers['webhook-id'],
      event: 'mail.verifyEmail',
      project: 'wall',
      space: 'users',
    },
    ...{ recordIds: ['ada@example.com'], time: last?.body.time },
    ...{ ...mail, code: '1' },
  });
  const guarded = openMails(t, { allowed: undefined });
  guarded.makeMails(async () => mail, unlimited);
  await guarded.promise(promised('guarded', { webhook: `${receiver.url}/mails` }));
  const { problem } = await stateOf(guarded, 'guarded', ({ attempts }) => attempts > 0);
  t.match(problem, /private network/);
  t.equal(receiver.received.length, 2, 'private networks are closed');
});

t.test('a mail that can not be kept is not promised', async (t) => {
  const mails = openMails(t, { contentShare: 1 });
  await t.rejects(mails.promise(promised('full')), { code: 'overloaded' });
  t.strictSame(await mails.recent({ ownerId: 'full' }, 10, never), []);
  const broken = openMails(t, {
    db: { ...harness.db, insert: () => Promise.reject(new Error('the store is gone')) },
  });
  await t.rejects(broken.promise(promised('broken')), /the store is gone/);
});
