/** Webhooks that fail: what of it holds up what, and what an address can say about it. */
import { BlockList } from 'node:net';
import t from 'tap';
import type { Delivery } from '#events/delivery.ts';
import { webhookRoutes } from '#events/webhook-routes.ts';
import type { Webhooks, WebhooksDeps } from '#events/webhooks.ts';
import type { AnnouncedRecord, RecordEvent } from '#kernel/record-events/record-event.ts';
import { fakeRequest, responseBytes } from '../services/fake-request.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { testWebhooks } from '../services/query-harness.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
const { signal } = new AbortController();
const { db, database } = await openMigratedChdb(t);
const opened: Webhooks[] = [];
t.teardown(async () => {
  for (const webhooks of opened) await webhooks.close();
});

function open(more: Partial<WebhooksDeps> = {}): Webhooks {
  const usual = { db, database, singleWriter: true, allowed: loopback, delayAfter: () => 1 };
  const webhooks = testWebhooks({ ...usual, ...more });
  opened.push(webhooks);
  return webhooks;
}

async function openReceiver() {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  return receiver;
}

const record = (id: string, text = ''): AnnouncedRecord => ({ id, json: JSON.stringify({ id, text }) });
const event = (ownerId: string, url: string, records: Iterable<AnnouncedRecord>): RecordEvent => ({
  type: 'record.updated',
  ownerId,
  spaceId: 's',
  project: 'p',
  space: 'notes',
  url,
  records,
});
/** Looks until it is so; the test's own limit ends it otherwise. */
async function until(
  webhooks: Webhooks,
  owner: string,
  isSo: (list: readonly Delivery[]) => boolean,
): Promise<readonly Delivery[]> {
  for (;;) {
    const list = await webhooks.recent({ ownerId: owner }, 500, signal);
    if (isSo(list)) return list;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
async function ask(webhooks: Webhooks, owner: string, operation: string, query: [string, string][] = []) {
  const authenticate = async () => ({ userId: owner, tokenId: 't' });
  const route = webhookRoutes({ webhooks, authenticate }).find((one) => one.operation === operation);
  const answer = await route?.handler({ ...fakeRequest({}), query });
  return JSON.parse((await responseBytes(answer as never)).toString());
}

t.test('one poisoned record held up the later webhooks of 99 others', async (t) => {
  const receiver = await openReceiver();
  receiver.answerTo = ({ body }) => (body.recordIds.includes('r7') ? 500 : 204);
  const webhooks = open({ limits: { gap: 1 } });
  const ids = Array.from({ length: 100 }, (_, n) => `r${n}`);
  const versions = ['first', 'second', 'third'];
  await webhooks.publish(
    event(
      'poisoned',
      receiver.url,
      ids.map((id) => record(id, 'first')),
    ),
  );
  for (const text of versions.slice(1))
    for (const id of ['r6', 'r7', 'r8'])
      await webhooks.publish(event('poisoned', receiver.url, [record(id, text)]));
  const list = await until(
    webhooks,
    'poisoned',
    (all) => all.filter(({ state }) => state === 'delivered').length === 99 + 4,
  );
  const told = (id: string) =>
    receiver.received.flatMap(({ body }) =>
      body.records.length === 1 && body.recordIds[0] === id ? [body.records[0].text] : [],
    );
  t.strictSame([told('r6'), told('r8')], [versions, versions], 'in the order of the writes');
  t.strictSame([...new Set(told('r7'))], ['first'], 'what follows the poisoned record waits for it');
  const [whole] = list.filter(({ recordIds }) => recordIds.length === 100);
  t.match(whole, { state: 'split', attempts: 3, status: 500, problem: /500.*one by one/ });
  const waiting = list.filter(({ state }) => state === 'pending');
  t.strictSame([...new Set(waiting.flatMap(({ recordIds }) => recordIds))], ['r7']);
  t.equal(waiting.length, 3);
  const single = receiver.received.find(
    ({ body }) => body.recordIds.length === 1 && body.recordIds[0] === 'r99',
  );
  t.match(single, {
    headers: { 'webhook-id': single?.body.deliveryId },
    body: { event: 'record.updated', records: [{ id: 'r99', text: 'first' }] },
  });
  await t.rejects(webhooks.sendAgain({ ownerId: 'poisoned' }, whole?.id as string, signal), {
    code: 'not_found',
  });

  await webhooks.close();
  receiver.answerTo = () => 204;
  const next = open({ limits: { gap: 1 } });
  await next.start();
  await until(next, 'poisoned', (all) =>
    all.every(({ state }) => state === 'delivered' || state === 'split'),
  );
  t.strictSame([...new Set(told('r7'))], versions, 'also in the next process');
  await next.close();
});

t.test('an address that takes no connection has its deliveries whole', async (t) => {
  const webhooks = open();
  await webhooks.publish(event('refused', 'http://127.0.0.1:9/', [record('a'), record('b')]));
  const [delivery] = await until(webhooks, 'refused', ([first]) => (first?.attempts ?? 0) > 4);
  t.match(delivery, { state: 'pending', recordIds: ['a', 'b'] });
  await webhooks.close();
});

t.test('of an address where everything fails, one delivery is split', async (t) => {
  const receiver = await openReceiver();
  receiver.answerTo = () => 500;
  const webhooks = open({ limits: { gap: 1 } });
  for (let n = 0; n < 6; n++)
    await webhooks.publish(event('down', receiver.url, [record(`${n}`), record(`${n}b`)]));
  const all = await until(webhooks, 'down', (list) => list.every(({ attempts }) => attempts > 2));
  const whole = all.filter(({ state, recordIds }) => state === 'pending' && recordIds.length === 2);
  t.ok(whole.length >= 3, `${whole.length} of 6 are whole`);
  receiver.answerTo = () => 204;
  await until(webhooks, 'down', (list) =>
    list.every(({ state }) => state === 'delivered' || state === 'split'),
  );
  await webhooks.close();
});

t.test('an address that is gone was called for a day', async (t) => {
  const receiver = await openReceiver();
  const { url } = receiver;
  receiver.answers.push(410);
  const webhooks = open();
  await webhooks.publish(event('gone', url, [record('a')]));
  const [first] = await until(webhooks, 'gone', ([one]) => one?.state === 'failed');
  t.match(first, { attempts: 1, status: 410 });
  await webhooks.publish(event('gone', url, [record('a', 'later')]));
  t.match(await webhooks.recent({ ownerId: 'gone' }, 1, signal), [
    { state: 'failed', attempts: 0, problem: /switched off.*410/ },
  ]);
  t.match(await ask(webhooks, 'gone', 'getWebhookAddresses'), [{ url, lastProblem: /410/ }]);
  t.strictSame(await ask(webhooks, 'other', 'getWebhookAddresses'), [], 'others do not see it');
  await webhooks.publish(event('other', url, [record('b')]));
  await until(webhooks, 'other', ([one]) => one?.state === 'delivered');
  await webhooks.close();

  const next = open();
  await next.start();
  await next.publish(event('gone', url, [record('a', 'after a restart')]));
  t.match(await next.recent({ ownerId: 'gone' }, 1, signal), [{ state: 'failed', attempts: 0 }]);
  t.equal(receiver.received.length, 2, 'of the other account the second');
  t.strictSame(await ask(next, 'gone', 'switchWebhookAddressOn', [['url', url]]), []);
  await next.publish(event('gone', url, [record('a', 'on')]));
  await until(next, 'gone', ([one]) => one?.state === 'delivered');
  await next.close();
});

t.test(
  'what waited for an address that is gone ends, and a call that is made again switches it on',
  async (t) => {
    const receiver = await openReceiver();
    const { url } = receiver;
    receiver.answers.push(500, 410);
    const webhooks = open();
    for (const text of ['1', '2', '3']) await webhooks.publish(event('waits', url, [record('a', text)]));
    const [newest] = await until(webhooks, 'waits', (list) => list.every(({ state }) => state === 'failed'));
    t.equal(receiver.received.length, 2);
    await webhooks.sendAgain({ ownerId: 'waits' }, newest?.id as string, signal);
    await until(webhooks, 'waits', ([one]) => one?.state === 'delivered');
    t.strictSame(await ask(webhooks, 'waits', 'getWebhookAddresses'), []);
    await webhooks.close();
  },
);

t.test('an address that is switched off by one process is off in the next ones', async (t) => {
  const receiver = await openReceiver();
  receiver.answers.push(410);
  const [one, two] = [open({ singleWriter: false }), open({ singleWriter: false })];
  await one.start();
  await one.publish(event('shared', receiver.url, [record('a')]));
  await until(one, 'shared', ([first]) => first?.state === 'failed');
  await two.start();
  await two.publish(event('shared', receiver.url, [record('a')]));
  t.match(await two.recent({ ownerId: 'shared' }, 1, signal), [{ state: 'failed', problem: /switched off/ }]);
  await one.close();
  await two.close();
});

const later = (seconds: number) => new Date(Date.now() + 1000 * seconds).toUTCString();
for (const [status, retryAfter, least, most] of [
  [429, '120', 120, 130],
  [503, '120', 120, 130],
  [503, later(1200), 600, 1200],
  [429, '100000000', 3600, 3610],
  [500, '120', 0, 10],
  [503, 'soon', 0, 10],
] as const) {
  t.test(`the pause that an address asked for was not kept: ${status}, ${retryAfter}`, async (t) => {
    const receiver = await openReceiver();
    receiver.answers.push({ status, retryAfter });
    receiver.answerTo = () => new Promise(() => {});
    const webhooks = open({ limits: { callsOfAccount: 1 } });
    const owner = `${status} ${retryAfter}`;
    await webhooks.publish(event(owner, receiver.url, [record('a')]));
    const asked = await until(webhooks, owner, ([one]) => (one?.attempts ?? 0) > 0);
    const { nextAt, updatedAt } = asked[0] as Delivery;
    const pause = (nextAt.getTime() - updatedAt.getTime()) / 1000;
    t.ok(pause >= least && pause <= most, `${pause} s`);
    if (least === 0) return;
    // another record of the address waits, too, and other addresses do not
    const other = await openReceiver();
    await webhooks.publish(event(owner, receiver.url, [record('b')]));
    await webhooks.publish(event(owner, other.url, [record('b')]));
    await other.count(1);
    t.equal(receiver.received.length, 1);
  });
}

t.test('a process that starts sent all that had waited at once', async (t) => {
  const receiver = await openReceiver();
  const stopped = open();
  await stopped.close();
  for (let n = 0; n < 30; n++) await stopped.publish(event('waited', receiver.url, [record(`${n}`)]));
  const answers: (() => void)[] = [];
  receiver.answerTo = () =>
    new Promise<number>((resolve) => {
      answers.push(() => resolve(204));
    });
  const webhooks = open({ limits: { gap: 20 } });
  await webhooks.start();
  await receiver.count(1);
  const other = await openReceiver();
  await webhooks.publish(event('beside', other.url, [record('a')]));
  await other.count(1);
  t.equal(receiver.received.length, 1, 'the first call is alone');
  let most = 0;
  for (let n = 1; n <= 30; n++) {
    await receiver.count(n);
    if (n <= 5) most = Math.max(most, receiver.received.length - n + 1);
    answers[n - 1]?.();
  }
  t.equal(most, 1, 'and so are the next ones');
  await until(webhooks, 'waited', (all) => all.every(({ state }) => state === 'delivered'));
  await webhooks.close();
});
