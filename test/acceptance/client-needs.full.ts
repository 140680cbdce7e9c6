/** What applications on the published client need beside the plain record operations. */
import { type Config, getFunctions, getSchemaCreator, type Space } from 'nobox-client';
import t from 'tap';
import { sluiceFor } from '../services/start-sluice.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const sluice = await sluiceFor(t, { env: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1' } });

const config: Config = { endpoint: sluice.baseUrl, project: 'needs', token: sluice.token };
const createSchema = getSchemaCreator(config, { type: 'rowed' });

interface User {
  email: string;
  password?: string;
}
interface Post {
  title: string;
  authorId: string;
  author?: User;
}

function schemaOf<T extends object>(space: string, structure: object, more: object = {}) {
  return createSchema<T>({ space, description: '', structure, ...more } as unknown as Space<T>);
}

const users = schemaOf<User>('User', {
  email: { type: String, unique: true },
  password: { type: String, hashed: true },
});

t.test('populate', async (t) => {
  const posts = schemaOf<Post>('Post', { title: String, authorId: String });
  const author = (await users.insertOne({ email: 'ada@x', password: 'p' })) as User & { id: string };
  await posts.insert([
    { title: 'first', authorId: author.id },
    { title: 'second', authorId: 'nobody' },
  ]);
  const fields = { from: 'User', foreignKey: 'id', localKey: 'authorId', newField: 'author' };
  const options = { populate: [{ space: 'User', fields }] };
  t.match(await posts.find({}, options), [{ title: 'first', author }, { author: null }]);
  t.match(await posts.findOne({ title: 'first' }, options), { author });
  t.match(await posts.search({ searchText: 'FIRST', searchableFields: ['title'] }, options as never), [
    { author },
  ]);
});

t.test('order, page and fields', async (t) => {
  const books = schemaOf<{ title: string; year: number }>('Book', { title: String, year: Number });
  const [a, b, c] = (await books.insert([
    { title: 'a', year: 1 },
    { title: 'b', year: 2 },
    { title: 'c', year: 2 },
  ])) as unknown as { id: string }[];
  const find = (asked: object, options: object = {}) => books.find(asked as never, options as never);
  t.strictSame(await find({ $sort: '-year,title', $select: ['title'], $limit: 2 }), [
    { id: b?.id, title: 'b' },
    { id: c?.id, title: 'c' },
  ]);
  t.strictSame(await find({ year: { gte: 2 }, $sort: ['-title'], $select: 'year', $limit: 1, $page: 2 }), [
    { id: b?.id, year: 2 },
  ]);
  const sort = [
    { by: 'year', order: 'desc' },
    { by: 'title', order: 'desc' },
  ];
  const after = { id: b?.id, values: [2, 'b'] };
  t.strictSame(await find({}, { sort, select: ['title'], pagination: { limit: 2, after } }), [
    { id: a?.id, title: 'a' },
  ]);
});

t.test('a field of another type', async (t) => {
  const texts = schemaOf<{ price: string }>('Priced', { price: String });
  const numbers = schemaOf<{ price: number }>('Priced', { price: Number });
  const { id } = (await texts.insertOne({ price: '12.50' })) as unknown as { id: string };
  t.match(await numbers.find({}), [{ id, price: 12.5 }]);
  t.match(await numbers.updateOneById(id, { price: 13 }), { id, price: 13 });
  await texts.insertOne({ price: 'free' });
  const thrown = await numbers.find({}).catch((error: unknown) => JSON.stringify(error));
  t.match(
    thrown,
    /is stored as TEXT and can not become NUMBER: 1 of 2 stored values does not convert: 'free' in record [0-9a-f-]{36}/,
  );
  t.match(await texts.find({}), [{ price: '13' }, { price: 'free' }], 'nothing changed');
});

t.test('login by email and a code that is not hashed', async (t) => {
  const space = {
    space: 'Member',
    description: '',
    structure: { email: String, otp: Number },
    functionOptions: { login: { compulsoryParams: ['email', 'otp'] } },
  };
  const members = createSchema<{ email: string; otp: number }>(space as never);
  const member = await members.insertOne({ email: 'ada@x', otp: 1234 });
  const { login } = getFunctions(config);
  const answer = (otp: number) => login({ body: { email: 'ada@x', otp }, space: space as never });
  t.match(await answer(1234), { token: String, user: member });
  t.equal(await answer(1), null);
});

t.test('an error tells all that is wrong in its message', async (t) => {
  const things = schemaOf<{ a: number; b: boolean }>('Thing', { a: Number, b: Boolean });
  const failed = async (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'no error',
      (error: unknown) => JSON.stringify(error),
    );
  t.match(await failed(things.insertOne({ a: 'x', b: 'y' } as never)), /'a' should.*'b' should/);
  t.match(
    await failed(things.find({ nosuch: 1 } as never)),
    /'nosuch' is not in the structure, which has 'a', 'b'/,
  );
});

t.test("names are people's own", async (t) => {
  const profiles = schemaOf<Record<string, unknown>>('User Profile', {
    prénom: { type: String, unique: true },
    'first name': String,
    'a.b': Number,
  });
  const profile = await profiles.insertOne({ prénom: 'Zoë', 'first name': 'Z', 'a.b': 1 });
  t.match(profile, { prénom: 'Zoë', 'first name': 'Z', 'a.b': 1 });
  t.strictSame(await profiles.findOne({ prénom: 'Zoë', 'first name': 'Z', 'a.b': 1 }), profile);
  const places = schemaOf<Record<string, unknown>>('Mon Équipe', { a: String });
  const place = await places.insertOne({ a: 'x' });
  t.strictSame(await places.find({}), [place]);
});

t.test('what forms and half-filled options send', async (t) => {
  const things = schemaOf<{ a: string; age: number }>('Loose', { a: String, age: Number });
  const made = await things.insertOne({ a: 'x', age: '' } as never);
  t.match(made, { a: 'x', age: null });
  await things.insertOne({ a: 'y', age: 2 });
  const names = async (options: object) => (await things.find({}, options as never)).map(({ a }) => a);
  t.strictSame(await names({ pagination: {} }), ['x', 'y']);
  t.strictSame(await names({ sort: {} }), ['x', 'y']);
  t.strictSame(await names({ sort: { order: 'desc' } }), ['x', 'y']);
});

t.test('functions that there are not are named', async (t) => {
  for (const [path, name] of [
    ['send-otp', 'sendOtp'],
    ['send-push-notification', 'sendPushNotifications'],
  ]) {
    const response = await fetch(`${sluice.baseUrl}/needs/function/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sluice.token}` },
      body: '{}',
    });
    t.equal(response.status, 501);
    t.match(await response.json(), {
      code: 'not_implemented',
      message: `The function ${name} is not implemented`,
    });
  }
});

t.test('webhooks', async (t) => {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const webhooks = { onInsertUrl: `${receiver.url}/made`, onUpdateUrl: `${receiver.url}/changed` };
  const orders = schemaOf<{ item: string }>('Order', { item: String }, { webhooks });
  const order = (await orders.insertOne({ item: 'tea' })) as { item: string; id: string };
  await receiver.count(1);
  const changed = await orders.updateOneById(order.id, { item: 'coffee' });
  await receiver.count(2);
  t.match(receiver.received, [
    { path: '/made', body: { records: [order] } },
    { path: '/changed', body: { records: [changed] } },
  ]);
});

t.test('/ leads people to the dashboard, and is JSON for programs', async (t) => {
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const first = await fetch(sluice.baseUrl, { headers: { accept }, redirect: 'manual' });
  t.strictSame([first.status, first.headers.get('location')], [302, '/_console_/']);
  const page = await fetch(sluice.baseUrl, { headers: { accept } });
  t.equal(page.status, 200);
  t.match(page.headers.get('content-type'), /^text\/html/);
  t.match(await page.text(), /<title>Sluice<\/title>/);
  for (const headers of [{}, { accept: 'application/json, text/plain, */*' }]) {
    const json = await fetch(sluice.baseUrl, { headers });
    t.match(json.headers.get('content-type'), /^application\/json/);
    t.match(await json.json(), { name: 'Sluice', documentation: '/docs' });
  }
});
