/** The published client, unmodified, against the service: insertOne, insert, find and findOne in every form. */
import { type Config, getSchemaCreator, type Space } from 'nobox-client';
import t from 'tap';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);

interface Person {
  firstName: string;
  age: number;
  active: boolean;
  tags: string[];
  address: { city: string; zip?: number };
  password?: string;
}

const config: Config = { endpoint: sluice.baseUrl, project: 'client-test', token: sluice.token };
const createSchema = getSchemaCreator(config, { type: 'rowed' });

function people(space: string) {
  const structure: Space<Person> = {
    space,
    description: 'People and what is known of them',
    structure: {
      firstName: { type: String, required: true, description: 'the given name' },
      age: { type: Number, required: false },
      active: { type: Boolean, defaultValue: true },
      tags: { type: Array },
      address: { type: Object },
      password: { type: String, hashed: true },
    },
  } as unknown as Space<Person>;
  return createSchema<Person>(structure);
}

const ada = {
  firstName: 'Ada',
  age: 36,
  active: true,
  tags: ['maths', 'poetry'],
  address: { city: 'London' },
};
const grace = {
  firstName: 'Grace',
  age: 85,
  active: false,
  tags: [],
  address: { city: 'New York', zip: 10001 },
};
const alan = { firstName: 'Alan', age: 41, active: true, tags: ['maths'], address: { city: 'London' } };

t.test('insertOne answers the stored record', async (t) => {
  const model = people('InsertOne');
  const before = Date.now();
  const stored = (await model.insertOne(ada)) as Person & {
    id: string;
    createdAt: string;
    updatedAt: string;
  };
  t.match(stored, ada);
  t.type(stored.id, 'string');
  t.ok(Date.parse(stored.createdAt) >= before - 1);
  t.equal(new Date(stored.updatedAt).toISOString(), stored.updatedAt);
  t.strictSame(await model.findOne({ id: stored.id } as never), stored);
});

t.test('insert answers the records in their order, and find has the same', async (t) => {
  const model = people('Insert');
  const stored = await model.insert([ada, grace, alan]);
  t.strictSame(
    stored.map(({ firstName }) => firstName),
    ['Ada', 'Grace', 'Alan'],
  );
  t.strictSame(await model.find({}), stored);
});

t.test('find with And and Or, by every type', async (t) => {
  const model = people('Find');
  await model.insert([ada, grace, alan]);
  const names = async (...args: Parameters<typeof model.find>): Promise<string[]> =>
    (await model.find(...args)).map(({ firstName }) => firstName);
  t.strictSame(await names({ age: 36 }), ['Ada']);
  t.strictSame(await names({ active: false }), ['Grace']);
  t.strictSame(await names({ firstName: 'Alan', age: 41 }), ['Alan']);
  t.strictSame(await names({ firstName: 'Alan', age: 36 }), []);
  t.strictSame(await names({ firstName: 'Alan', age: 36 }, { paramRelationship: 'Or' }), ['Ada', 'Alan']);
  t.strictSame(await names({ firstName: 'nobody' }), []);
  t.strictSame(await names({}), ['Ada', 'Grace', 'Alan']);
});

t.test('find by operators and groups, which the client writes in brackets', async (t) => {
  const model = people('Operators');
  await model.insert([ada, grace, alan]);
  const names = async (conditions: object): Promise<string[]> =>
    (await model.find(conditions as never)).map(({ firstName }) => firstName);
  t.strictSame(await names({ age: { gt: 36, lte: 85 } }), ['Grace', 'Alan']);
  t.strictSame(await names({ firstName: { in: ['Ada', 'Alan', 'b,c'] } }), ['Ada', 'Alan']);
  t.strictSame(await names({ $or: [{ firstName: 'Ada' }, { age: { gt: 80 } }] }), ['Ada', 'Grace']);
  t.strictSame(await names({ tags: { hasAll: ['maths', 'poetry'] } }), ['Ada']);
  t.strictSame(await names({ $not: [{ active: true }] }), ['Grace']);
});

t.test('pagination and sort', async (t) => {
  const model = people('Pages');
  await model.insert(Array.from({ length: 25 }, (_, i) => ({ ...ada, firstName: `p${i}`, age: i })));
  const ages = async (options: object): Promise<number[]> =>
    (await model.find({}, { paramRelationship: 'And', ...options } as never)).map(({ age }) => age);
  t.strictSame(await ages({ pagination: { limit: 3, page: 1 } }), [0, 1, 2]);
  t.strictSame(await ages({ pagination: { limit: 10, page: 3 } }), [20, 21, 22, 23, 24]);
  t.strictSame(await ages({ pagination: { limit: 10, page: 4 } }), []);
  t.strictSame(
    await ages({ sort: { by: 'age', order: 'desc' }, pagination: { limit: 2, page: 2 } }),
    [22, 21],
  );
  t.strictSame(
    await ages({ sort: { by: 'createdAt', order: 'asc' }, pagination: { limit: 2, page: 1 } }),
    [0, 1],
  );
});

t.test('findOne answers a record or null', async (t) => {
  const model = people('FindOne');
  await model.insert([ada, grace]);
  t.match(await model.findOne({ firstName: 'Grace' }), grace);
  t.equal(await model.findOne({ firstName: 'nobody' }), null);
  t.match(await model.findOne({ firstName: 'nobody', age: 36 }, { paramRelationship: 'Or' }), ada);
});

t.test('a hashed field checks a password and never comes back', async (t) => {
  const model = people('Hashed');
  const stored = await model.insertOne({ ...ada, password: 'correct horse' });
  t.notOk('password' in stored);
  t.match(await model.findOne({ firstName: 'Ada', password: 'correct horse' }), { firstName: 'Ada' });
  t.equal(await model.findOne({ firstName: 'Ada', password: 'wrong' }), null);
});

t.test('a default value is used when none is supplied', async (t) => {
  const model = people('Defaults');
  const stored = await model.insertOne({ firstName: 'Ada' } as Person);
  t.equal(stored.active, true);
});

t.test('errors reach the client with their texts', async (t) => {
  const model = people('Errors');
  const error = await model.insertOne({ ...ada, age: 'old' } as never).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  t.match(JSON.stringify(error), /Value for Body field: 'age' should be a valid number|400/);
});
