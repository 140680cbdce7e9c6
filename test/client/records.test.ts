/** Finds and writes of the client, against a service. */
import t, { type Test } from 'tap';
import {
  aggregate,
  array,
  bigint,
  type Client,
  connect,
  count,
  date,
  datetime,
  decimal,
  deleteMany,
  deleteOne,
  find,
  findOne,
  inc,
  insert,
  integer,
  live,
  login,
  number,
  object,
  search,
  setStructure,
  space,
  text,
  update,
  updateMany,
  upsert,
} from '#client/index.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const db = connect({ url: `${sluice.baseUrl}/`, token: sluice.token, project: 'shop' });
let spaces = 0;

/** Orders that no other test has. */
function orders() {
  return space(`orders-${spaces++}`, {
    city: text({ required: true }),
    amount: number(),
    email: text({ unique: true }),
    tags: array<string[]>(),
    home: object(),
    日本: text(),
  });
}

async function rejects(t: Test, work: PromiseLike<unknown>, wanted: object): Promise<void> {
  t.match(await rejectionOf(Promise.resolve(work)), wanted);
}

async function collect<Value>(list: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const one of list) all.push(one);
  return all;
}

t.test('a space that nobody wrote to has no records', async (t) => {
  const empty = orders();
  t.strictSame(await find(db, empty), []);
  t.strictSame(await collect(find(db, empty, { where: { amount: 1 } })), []);
  t.equal(await findOne(db, empty), null);
  t.equal(await count(db, empty), 0);
  t.strictSame(await aggregate(db, empty, { groupBy: ['city'], values: { n: 'count' } }), []);
  t.strictSame(await search(db, empty, 'a', { in: ['city'] }), []);
});

t.test('an insert without a copy of its records returns their number', async (t) => {
  const own = orders();
  t.equal(await insert(db, own, [{ city: 'Rome' }, { city: 'Oslo' }], { returning: false }), 2);
  t.equal(await insert(db, own, { city: 'Paris' }, { returning: false, key: 'once' }), 1);
  t.equal(await insert(db, own, { city: 'Paris' }, { returning: false, key: 'once' }), 1);
  t.match(await insert(db, own, { city: 'Lima' }, { returning: true }), { city: 'Lima' });
  t.equal(await count(db, own), 4);
});

t.test('records are inserted, found, counted and grouped', async (t) => {
  const own = orders();
  const ada = await insert(db, own, {
    city: 'Paris',
    amount: 5,
    tags: ['a', 'b'],
    home: { zip: 1 },
    日本: '東京',
  });
  t.match(ada, { city: 'Paris', amount: 5, email: null, tags: ['a', 'b'], home: { zip: 1 }, 日本: '東京' });
  const more = await insert(db, own, [
    { city: 'Rome', amount: 20 },
    { city: 'Paris', amount: 30, home: { zip: 2 } },
    { city: 'Oslo' },
  ]);
  t.equal(more.length, 3);
  t.strictSame(await find(db, own), [ada, ...more]);
  const cities = async (options: Parameters<typeof find<typeof own.fields>>[2]) =>
    (await find(db, own, options)).map(({ city }) => city);
  t.strictSame(await cities({ where: { amount: { gte: 10 } }, sort: ['-amount'] }), ['Paris', 'Rome']);
  t.strictSame(await cities({ where: { 'home.zip': 1 } }), ['Paris']);
  t.strictSame(await cities({ where: { tags: { hasAny: ['b'] } } }), ['Paris']);
  t.strictSame(await cities({ where: { $or: [{ city: 'Oslo' }, { 日本: '東京' }] } }), ['Paris', 'Oslo']);
  t.strictSame(await cities({ where: { createdAt: { gt: new Date(0) } }, limit: 2, page: 2 }), [
    'Paris',
    'Oslo',
  ]);
  t.strictSame(await find(db, own, { select: ['home.zip'], limit: 1 }), [{ id: ada.id, home: { zip: 1 } }]);
  t.strictSame(await findOne(db, own, { where: { id: ada.id } }), ada);
  t.strictSame(await findOne(db, own, { sort: ['-amount'], select: ['amount'] }), {
    id: more[1]?.id,
    amount: 30,
  });
  t.equal(await count(db, own, { where: { city: { in: ['Paris', 'Oslo'] } } }), 3);
  t.strictSame(
    await aggregate(db, own, {
      groupBy: ['city'],
      values: { n: 'count', total: { sum: 'amount' } },
      where: { city: { ne: 'Rome' } },
      sort: ['-n'],
      having: { n: { gt: 0 } },
    }),
    [
      { city: 'Paris', n: 2, total: 35 },
      { city: 'Oslo', n: 1, total: null },
    ],
  );
  const days = await aggregate(db, own, {
    groupBy: [{ bucket: 'createdAt', every: '1y', as: 'year' }],
    values: { most: { max: 'amount' }, mean: { quantile: ['amount', 0.5] }, cities: { distinct: 'city' } },
  });
  t.match(days, [{ year: /^\d{4}-01-01T/, most: 30, mean: 20, cities: 3 }]);
  const found = await search(db, own, 'O', { in: ['city'], where: { $and: [{ amount: 20 }] } });
  t.strictSame(
    found.map(({ city }) => city),
    ['Rome'],
  );
});

t.test('times, days, whole numbers and decimals are read as they were written', async (t) => {
  const own = space(`trips-${spaces++}`, {
    at: datetime({ required: true }),
    day: date(),
    seats: integer(),
    odometer: bigint({ unique: true }),
    seen: bigint(),
    price: decimal({ precision: 18, scale: 2 }),
    secret: text({ hashed: true }),
  });
  const long = 2n ** 62n + 1n;
  const first = { at: new Date(0), day: '2026-01-31', seats: 4, odometer: long, price: '12.3' };
  const stored = await insert(db, own, { ...first, secret: 'a' });
  const asStored = { ...first, at: '1970-01-01T00:00:00.000Z', price: '12.30' };
  t.match(stored, asStored);
  const [second, third] = await insert(db, own, [
    { at: '2026-01-31T12:00:00.123456Z', odometer: 5n },
    { at: '2026-01-31T13:00:00+01:00', price: '-1.5' },
  ]);
  t.match(second, { at: '2026-01-31T12:00:00.123456Z', odometer: 5n, day: null });
  t.match(third, { at: '2026-01-31T12:00:00.000Z', odometer: null, price: '-1.50' });
  t.strictSame(await find(db, own, { where: { odometer: { in: [long, 7n] } } }), [stored]);
  t.strictSame(await findOne(db, own, { where: { at: new Date(0), $or: [{ odometer: long }] } }), stored);
  t.equal(await findOne(db, own, { where: { odometer: 8n } }), null);
  t.strictSame(await collect(find(db, own, { sort: ['-odometer'] })), [stored, second, third]);
  t.strictSame(await find(db, own, { sort: ['at'], limit: 1, select: ['odometer'] }), [
    { id: stored.id, odometer: long },
  ]);
  t.match(await upsert(db, own, { at: new Date(1), odometer: long }, { on: 'odometer', do: 'skip' }), stored);
  t.match(await update(db, own, stored.id, { odometer: 2n ** 63n - 1n }), { odometer: 2n ** 63n - 1n });
  t.equal(await updateMany(db, own, { odometer: 5n }, { seen: -6n }), 1);
  t.match(await deleteOne(db, own, second?.id ?? ''), { odometer: 5n, seen: -6n });
  for await (const { records } of live(db, own, { where: { odometer: { gt: 1n } } })) {
    t.match([...records.values()], [{ id: stored.id, odometer: 2n ** 63n - 1n }]);
    break;
  }
  await insert(db, own, { at: '2026-01-31T12:00:00Z', odometer: 2n ** 63n - 3n });
  t.strictSame(
    await aggregate(db, own, {
      values: {
        sum: { sum: 'odometer' },
        mean: { avg: 'odometer' },
        least: { min: 'odometer' },
        middle: { quantile: ['odometer', 0] },
        different: { distinct: 'odometer' },
        total: { sum: 'price' },
        seats: { sum: 'seats' },
      },
      having: { sum: { gt: 2n ** 63n } },
    }),
    [
      {
        sum: 2n ** 64n - 4n,
        mean: `${2n ** 63n - 2n}.000000`,
        least: 2n ** 63n - 3n,
        middle: 2n ** 63n - 3n,
        different: 2,
        total: '10.80',
        seats: 4,
      },
    ],
  );
  t.strictSame(
    await aggregate(db, own, {
      groupBy: [{ bucket: 'at', every: '1y' }, 'odometer'],
      values: { odometer_: { max: 'odometer' } },
      where: { odometer: 2n ** 63n - 3n },
    }),
    [{ at: '2026-01-01T00:00:00Z', odometer: 2n ** 63n - 3n, odometer_: 2n ** 63n - 3n }],
  );
  t.match(await login(db, own, { secret: 'a', odometer: 2n ** 63n - 1n }), {
    user: { odometer: 2n ** 63n - 1n },
  });
  t.match(await inc(db, own, third?.id ?? '', { seen: 2n ** 60n + 1n, seats: 1, price: '0.50' }), {
    ...{ seen: 2n ** 60n + 1n, seats: 1, price: '-1.00' },
  });
});

t.test('a list is read page by page, in any order', async (t) => {
  const own = orders();
  const many = Array.from({ length: 2500 }, (_, index) => ({ city: `c${index % 7}`, amount: index % 100 }));
  const stored = await insert(db, own, many);
  t.strictSame(await collect(find(db, own)), stored);
  const sorted = await collect(find(db, own, { sort: ['city', '-amount'], select: ['amount'] }));
  const wanted = await find(db, own, { sort: ['city', '-amount'], select: ['amount'] });
  t.strictSame(sorted, wanted, 'a field that was not selected is not answered, though it is sorted by');
  t.equal(sorted.length, 2500);
  t.strictSame(
    await collect(find(db, own, { limit: 1200, sort: ['-id'] })),
    stored.toReversed().slice(0, 1200),
  );
  t.strictSame(await collect(find(db, own, { limit: 2, page: 3 })), stored.slice(4, 6));
  t.strictSame(await collect(find(db, own, { limit: 1000 })), stored.slice(0, 1000));
  for await (const { id } of find(db, own)) {
    t.equal(id, stored[0]?.id);
    break;
  }
});

t.test('records are changed and deleted', async (t) => {
  const own = orders();
  const [ada, grace] = (await insert(db, own, [
    { city: 'Paris', amount: 1 },
    { city: 'Rome', amount: 2 },
  ])) as unknown as [{ id: string }, { id: string }];
  t.match(await update(db, own, ada.id, { city: 'Oslo', tags: ['x'] }), {
    city: 'Oslo',
    amount: 1,
    tags: ['x'],
  });
  t.match(await update(db, own, ada.id, { amount: null }), { amount: null });
  t.match(await inc(db, own, ada.id, { amount: 1.5 }), { amount: 1.5 });
  t.equal(await updateMany(db, own, {}, { city: 'Bern' }, { all: true, inc: { amount: 1 } }), 2);
  t.match(await find(db, own), [
    { city: 'Bern', amount: 2.5 },
    { city: 'Bern', amount: 3 },
  ]);
  t.match(await deleteOne(db, own, grace.id), { id: grace.id, amount: 3 });
  await rejects(t, deleteOne(db, own, grace.id), { code: 'no_match', status: 400 });
  t.equal(await deleteMany(db, own, { amount: { lt: 10 } }), 1);
  t.equal(await count(db, own), 0);
});

t.test('an upsert changes or leaves what is stored', async (t) => {
  const own = orders();
  const ada = await insert(db, own, { city: 'Paris', email: 'ada' });
  await rejects(t, insert(db, own, { city: 'Rome', email: 'ada' }), { code: 'not_unique' });
  const changed = await upsert(db, own, { city: 'Rome', email: 'ada' }, { on: 'email', do: 'update' });
  t.match(changed, { id: ada.id, city: 'Rome' });
  const both = await upsert(
    ...([db, own] as const),
    [
      { city: 'Oslo', email: 'ada' },
      { city: 'Bern', email: 'new' },
    ],
    { on: 'email', do: 'skip' },
  );
  t.strictSame(
    both.map(({ city }) => city),
    ['Rome', 'Bern'],
  );
});

t.test('a condition that is undefined means no records, and not all', async (t) => {
  const own = orders();
  await insert(db, own, { city: 'Paris' });
  const where = { city: undefined } as unknown as { city: string };
  const wanted = { name: 'TypeError', message: 'The condition city is undefined' };
  await t.rejects(deleteMany(db, own, where), wanted);
  await t.rejects(count(db, own, { where: { $or: [where] } }), wanted);
  await t.rejects(Promise.resolve(find(db, own, { where })), wanted);
  await rejects(t, deleteMany(db, own, {}), { code: 'no_conditions' });
  t.equal(await count(db, own), 1);
});

t.test('a structure that differs from the stored one names the field, and the remedy', async (t) => {
  const own = orders();
  await setStructure(db, own);
  await insert(db, own, { city: 'Paris', 日本: 'x' });
  const other = space(own.slug, { city: number(), more: text() });
  await rejects(t, insert(db, other, { city: 1 }), {
    code: 'structure_conflict',
    status: 400,
    message: /'city' is stored as TEXT.*npx --no-install sluice-types/,
    problems: [/'city'/],
  });
  const smaller = space(own.slug, { city: text({ required: true }), more: text() });
  await rejects(t, insert(db, smaller, { city: 'Rome', more: 'new' }), {
    code: 'invalid_value',
    status: 400,
    message: /'more' is not in the structure.*npx --no-install sluice-types/,
  });
  await setStructure(db, smaller);
  t.match(await insert(db, smaller, { city: 'Rome', more: 'new' }), { city: 'Rome', more: 'new' });
  t.equal((await find(db, own, { where: { city: 'Paris' } }))[0]?.日本, 'x');
});

t.test('a user logs in, and asks as himself', async (t) => {
  const users = space('users', {
    name: text({ required: true, unique: true }),
    password: text({ hashed: true }),
  });
  await insert(db, users, { name: 'ada', password: 'secret' });
  const { token, user } = await login(db, users, { name: 'ada', password: 'secret' });
  t.equal(user.name, 'ada');
  const as: Client = connect({ ...db, user: token });
  t.match(await find(as, users), [{ name: 'ada' }]);
  await rejects(t, login(db, users, { name: 'ada', password: 'wrong' }), {
    code: 'unauthorized',
    status: 401,
  });
});

t.test('rules bind a user, and the structure says no more than is stored', async (t) => {
  const members = space('members', { name: text({ required: true }), password: text({ hashed: true }) });
  const notes = space('notes', { text: text(), owner: text() });
  for (const own of [members, notes]) await setStructure(db, own);
  const own = { owner: '$user.id' };
  const rules = { members: { find: true }, notes: { find: own, insert: own, update: own, set: own } };
  for (const [slug, body] of Object.entries({
    members: rules.members,
    notes: { ...rules.notes, users: 'members' },
  })) {
    const answer = await fetch(`${sluice.baseUrl}/_projects_/shop/spaces/${slug}/rules`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${sluice.token}` },
      body: JSON.stringify(body),
    });
    t.equal(answer.status, 200, await answer.text());
  }
  const ada = await insert(db, members, { name: 'Ada', password: 'secret' });
  await insert(db, notes, { text: 'of nobody' });
  const { token } = await login({ ...db, asUser: true }, members, { name: 'Ada', password: 'secret' });
  const as = connect({ ...db, user: token, asUser: true });
  t.match(await insert(as, notes, { text: 'mine' }), { text: 'mine', owner: ada.id });
  t.match(await find(as, notes), [{ text: 'mine' }]);
  t.equal(await count(as, notes), 1);
  t.equal(await updateMany(as, notes, {}, { text: 'changed' }, { all: true }), 1);
  await rejects(t, deleteMany(as, notes, {}, { all: true }), { code: 'not_allowed', status: 403 });
  const more = space('notes', { text: text(), colour: text() });
  await rejects(t, find(as, more), { code: 'not_granted', message: /'colour'/ });
});
