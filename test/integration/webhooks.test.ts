/** Webhooks: what is sent, in which order, how often, and where not. */
import { createHmac } from 'node:crypto';
import { BlockList } from 'node:net';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import type { Webhooks } from '#events/webhooks.ts';
import { openQueryHarness, spaceOf, testWebhooks } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../services/webhook-receiver.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
const open = (db: Database, allowed?: BlockList): Webhooks =>
  testWebhooks({ db, singleWriter: true, allowed, delayAfter: () => 1 });
let webhooks: Webhooks | undefined;
const harness = await openQueryHarness({
  webhooks: (db) => {
    webhooks ??= open(db, loopback);
    return webhooks;
  },
});
const receiver = await startWebhookReceiver();
t.teardown(async () => {
  await webhooks?.close();
  await receiver.close();
  await harness.close();
});
t.beforeEach(() => {
  receiver.received.length = 0;
  receiver.answers.length = 0;
});

const fields: FieldInput[] = fieldsOf('email TEXT, age NUMBER, password TEXT hashed');
const hooked = (slug: string, { url }: Pick<WebhookReceiver, 'url'> = receiver) => {
  const hooks = { onInsertUrl: `${url}/insert`, onUpdateUrl: `${url}/update` };
  return spaceOf(harness, 'p', slug, fields, { webhooks: hooks });
};
const list = async (owner = 'owner') =>
  (await harness.call({ path: '/_webhooks_/deliveries', query: 'limit=500', owner })).body as Record<
    string,
    unknown
  >[];
/** Looks until it is so; the test's own limit ends it otherwise. */
const until = async (found: (deliveries: Record<string, unknown>[]) => boolean) => {
  for (;;) {
    const deliveries = await list();
    if (found(deliveries)) return deliveries;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

t.test('writes are delivered, signed, and without hashed fields', async (t) => {
  const space = hooked('users');
  const { body: ada } = await space.insertOne({ email: 'ada@x', password: 'secret' });
  await receiver.count(1);
  const { body: others } = await space.insert([{ email: 'b' }, { email: 'c' }]);
  await receiver.count(2);
  const { body: older } = await space.updateOneById(ada.id, { age: 37 });
  await receiver.count(3);
  await space.updateOne('email=b', { age: 1 });
  await receiver.count(4);
  await space.deleteOneById(ada.id);
  t.match(receiver.received, [
    { path: '/insert', body: { event: 'record.inserted', project: 'p', space: 'users', records: [ada] } },
    { path: '/insert', body: { recordIds: others.map(({ id }: { id: string }) => id), records: others } },
    { path: '/update', body: { event: 'record.updated', recordIds: [ada.id], records: [older] } },
    { path: '/update', body: { records: [{ email: 'b', age: 1 }] } },
  ]);
  const { secret } = (await harness.call({ path: '/_webhooks_/secret' })).body;
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.not((await harness.call({ path: '/_webhooks_/secret', owner: 'other' })).body.secret, secret);
  for (const { headers, text, body } of receiver.received) {
    t.notMatch(text, /password|argon2/);
    const id = headers['webhook-id'];
    t.equal(id, body.deliveryId);
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const hmac = createHmac('sha256', key).update(`${id}.${headers['webhook-timestamp']}.${text}`);
    t.equal(headers['webhook-signature'], `v1,${hmac.digest('base64')}`);
  }
});

t.test('changes of many records are delivered, and what upserts make and change', async (t) => {
  const space = hooked('many');
  const { body: made } = await space.insert(Array.from({ length: 150 }, (_, age) => ({ email: 'a', age })));
  await receiver.count(2);
  receiver.received.length = 0;
  const where = { age: { gte: 10 } };
  const structure = structureOf('p', 'many', fields);
  const call = {
    path: '/p/many/_update_',
    structure,
    body: { where, set: { email: 'b' }, inc: { age: 0.5 } },
  };
  t.strictSame((await harness.call(call)).body, { updated: 140 });
  await receiver.count(2);
  const told = receiver.received.flatMap(({ body }) => body.records);
  t.ok(receiver.received.every(({ path, body }) => path === '/update' && body.event === 'record.updated'));
  t.strictSame(
    told.map(({ id, email, age }) => [id, email, age]).sort(),
    made
      .slice(10)
      .map(({ id, age }: { id: string; age: number }) => [id, 'b', age + 0.5])
      .sort(),
  );

  const unique = fields.map((field) => (field.name === 'email' ? { ...field, unique: true } : field));
  const hooks = { onInsertUrl: `${receiver.url}/insert`, onUpdateUrl: `${receiver.url}/update` };
  const upserts = spaceOf(harness, 'p', 'upserts', unique, { webhooks: hooks });
  receiver.received.length = 0;
  for (const [age, action] of [
    [1, 'update'],
    [2, 'update'],
    [3, 'skip'],
  ] as const)
    await upserts.insertOne(
      { email: 'a', age },
      { options: JSON.stringify({ onConflict: { field: 'email', do: action } }) },
    );
  await receiver.count(2);
  t.match(receiver.received, [
    { path: '/insert', body: { records: [{ age: 1 }] } },
    { path: '/update', body: { records: [{ age: 2 }] } },
  ]);
});

t.test('a key group tells of its making and of its changes', async (t) => {
  const keys = hooked('keys');
  await keys.setKeys({ email: 'a' });
  await keys.setKeys({ age: 1 });
  await receiver.count(2);
  t.strictSame(
    receiver.received.map(({ path }) => path),
    ['/insert', '/update'],
  );
});

t.test('what fails is sent again, and what concerns a record stays in order', async (t) => {
  const url = receiver.url;
  const hooks = { onUpdateUrl: `${url}/same` };
  const space = spaceOf(harness, 'p', 'order', fields, { webhooks: hooks });
  const { body: first } = await space.insertOne({ email: 'a', age: 0 });
  const { body: second } = await space.insertOne({ email: 'b', age: 0 });
  receiver.answers.push(500, 503, 429);
  for (let age = 1; age <= 5; age++) {
    await space.updateOneById(first.id, { age });
    await space.updateOneById(second.id, { age });
  }
  await receiver.count(13);
  const deliveries = await until((all) =>
    all.filter(({ space }) => space === 'order').every(({ state }) => state === 'delivered'),
  );
  t.equal(deliveries.filter(({ space }) => space === 'order').length, 10);
  for (const { id } of [first, second]) {
    const ages = receiver.received.flatMap(({ body }) =>
      body.records[0].id === id ? [body.records[0].age as number] : [],
    );
    t.strictSame([...ages].sort(), ages, 'in order');
    t.strictSame([...new Set(ages)], [1, 2, 3, 4, 5], 'each at least once');
  }
});

t.test('a dead address slows neither writes nor others', async (t) => {
  const dead = await startWebhookReceiver();
  t.teardown(() => dead.close());
  dead.answers.push(...Array.from({ length: 100 }, () => 'nothing' as const));
  const slow = hooked('dead', dead);
  for (let n = 0; n < 20; n++) t.equal((await slow.insertOne({ age: n })).status, 200);
  // more than an account may send at once hang by now; another account's are sent all the same
  const hooks = { onInsertUrl: `${receiver.url}/other` };
  await harness.call({
    path: '/p/quick',
    structure: structureOf('p', 'quick', fields, { webhooks: hooks }),
    owner: 'other',
    body: [{ age: 1 }],
  });
  await receiver.count(1);
  t.equal(receiver.received[0]?.path, '/other');
});

t.test('deliveries survive a restart', async (t) => {
  const later = await startWebhookReceiver();
  t.teardown(() => later.close());
  await webhooks?.close();
  const { body: record } = await hooked('restart', later).insertOne({ email: 'x' });
  t.equal(later.received.length, 0, 'its process stops before it sends');
  webhooks = open(harness.db, loopback);
  harness.forget();
  await webhooks.start();
  await later.count(1);
  t.match(later.received[0]?.body, { records: [record] });
  await until((all) => all.some(({ space, state }) => space === 'restart' && state === 'delivered'));
});

t.test('times, days and exact numbers are delivered, also after a restart', async (t) => {
  const later = await startWebhookReceiver();
  t.teardown(() => later.close());
  const exact: FieldInput[] = [
    ...fieldsOf('name TEXT, at DATETIME, day DATE, whole INTEGER, big BIGINT, secret BIGINT hashed'),
    { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
    { name: 'exact', type: 'DECIMAL', precision: 38, scale: 10 },
  ];
  const hooks = { onInsertUrl: `${later.url}/insert`, onUpdateUrl: `${later.url}/update` };
  const space = spaceOf(harness, 'p', 'exact', exact, { webhooks: hooks });
  const highest = {
    ...{ at: '9999-12-31T23:59:59.999999Z', day: '9999-12-31', whole: 9007199254740991 },
    ...{ big: '9223372036854775807', price: '9999999999999999.99' },
    exact: '9999999999999999999999999999.9999999999',
  };
  const lowest = {
    ...{ at: '0001-01-01T00:00:00.000Z', day: '0001-01-01', whole: -9007199254740991 },
    ...{ big: '-9223372036854775808', price: '-9999999999999999.99' },
    exact: '-9999999999999999999999999999.9999999999',
  };
  const { body: made } = await space.insertOne({ name: 'x', at: 0, price: 12.3, secret: '4242424242424242' });
  await later.count(1);
  const { body: low } = await space.updateOneById(made.id, lowest);
  await later.count(2);
  await until((all) => {
    const sent = all.filter((one) => one.space === 'exact');
    return sent.length === 2 && sent.every(({ state }) => state === 'delivered');
  });
  // the process stops before it sends these
  await webhooks?.close();
  const { body: high } = await space.insertOne({ name: 'y', ...highest });
  const structure = structureOf('p', 'exact', exact, { webhooks: hooks });
  const all = { path: '/p/exact/_update_', structure, body: { where: { name: 'x' }, set: highest } };
  t.strictSame((await harness.call(all)).body, { updated: 1 });
  t.equal(later.received.length, 2);
  webhooks = open(harness.db, loopback);
  harness.forget();
  await webhooks.start();
  await later.count(4);
  t.match(made, { at: '1970-01-01T00:00:00.000Z', price: '12.30' });
  t.match(low, lowest);
  t.match(high, highest);
  const sent = (path: string) =>
    later.received.filter((call) => call.path === path).map(({ body }) => body.records[0]);
  t.strictSame(sent('/insert'), [made, high]);
  const [first, second] = sent('/update');
  t.strictSame(first, low);
  t.match(second, { id: made.id, name: 'x', ...highest });
  for (const { text } of later.received) t.notMatch(text, /secret|4242424242424242/);
});

t.test('an account sees its deliveries, and sends one again', async (t) => {
  await hooked('again').insertOne({ email: 'x' });
  await receiver.count(1);
  const [newest] = await until(([first]) => first?.state === 'delivered');
  t.match(newest, {
    event: 'record.inserted',
    space: 'again',
    attempts: 1,
    lastStatus: 204,
    lastProblem: null,
  });
  const path = `/_webhooks_/deliveries/${newest?.id}/send`;
  t.match(await harness.call({ method: 'POST', path, owner: 'other' }), { status: 404 });
  t.match(await harness.call({ method: 'POST', path }), { status: 200, body: { state: 'pending' } });
  await receiver.count(2);
  t.equal(receiver.received[1]?.body.deliveryId, newest?.id);
  t.notOk(
    (await list('other')).some(({ id }) => id === newest?.id),
    'others do not',
  );
  t.match(await harness.call({ path: '/_webhooks_/deliveries', query: 'limit=0' }), { status: 400 });
});

t.test('private networks are refused, also by a redirect', async (t) => {
  // to every attempt: a delivery that comes through has no problem any more
  receiver.answers.push(
    ...Array.from({ length: 1000 }, () => ({ status: 307, location: 'http://10.0.0.1/x' })),
  );
  await hooked('redirected').insertOne({ email: 'x' });
  const refused = (space: string) =>
    until((all) => all.some((one) => one.space === space && one.lastProblem === problem));
  const problem = 'the address leads into a private network';
  await refused('redirected');
  await webhooks?.close();
  webhooks = open(harness.db);
  harness.forget();
  const before = receiver.received.length;
  await hooked('closed').insertOne({ email: 'x' });
  await refused('closed');
  t.equal(receiver.received.length, before);
});

t.test('what a process that died did not send, another one does', async (t) => {
  await webhooks?.close();
  // the harness writes by a process that is closed
  harness.forget();
  await hooked('adopted').insertOne({ email: 'x' });
  const { db } = harness;
  const shared = { db, singleWriter: false, allowed: loopback, delayAfter: () => 1 };
  const patient = testWebhooks(shared);
  await patient.start();
  const hers = (await list()).find(({ space }) => space === 'adopted');
  t.match(hers, { state: 'pending', attempts: 0 }, 'one that may live is left alone');
  const heir = testWebhooks({ ...shared, silence: -1000 });
  await heir.start();
  await until((all) => all.some(({ space, state }) => space === 'adopted' && state === 'delivered'));
  await Promise.all([patient.close(), heir.close()]);
});
