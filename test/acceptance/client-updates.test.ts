/** The published client, unmodified: updateOne, updateOneById, deleteOneById, search, clear, setKeys and getKeys. */
import { type Config, getSchemaCreator, type Space } from 'nobox-client';
import t from 'tap';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);

interface Person {
  firstName: string;
  age: number;
  active: boolean;
  tags: string[];
  address: { city: string };
  password?: string;
}

const config: Config = { endpoint: sluice.baseUrl, project: 'client-updates', token: sluice.token };
const createRowed = getSchemaCreator(config, { type: 'rowed' });
const createKeyGroup = getSchemaCreator(config, { type: 'key-group' });

function people(space: string) {
  const structure = {
    space,
    description: 'People and what is known of them',
    structure: {
      firstName: { type: String, required: true },
      age: { type: Number },
      active: { type: Boolean, defaultValue: true },
      tags: { type: Array },
      address: { type: Object },
      password: { type: String, hashed: true },
    },
  } as unknown as Space<Person>;
  return createRowed<Person>(structure);
}

const ada = { firstName: 'Ada', age: 36, active: true, tags: ['maths'], address: { city: 'London' } };
const grace = { firstName: 'Grace', age: 85, active: false, tags: [], address: { city: 'New York' } };

/** What a call throws; the client throws what it got of the answer. */
async function thrown(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) throw new Error('nothing was thrown');
  return JSON.stringify(error);
}

t.test('updateOneById answers the record after the change', async (t) => {
  const model = people('ById');
  const [first, second] = await model.insert([ada, grace]);
  const changed = await model.updateOneById(first?.id as string, { age: 37, address: { city: 'Paris' } });
  t.match(changed, { ...ada, id: first?.id, age: 37, address: { city: 'Paris' } });
  t.strictSame(await model.find({}), [changed, second]);
  t.match(await thrown(model.updateOneById('nosuch', { age: 1 })), /400/);
});

t.test('updateOne by conditions of every type, and with Or', async (t) => {
  const model = people('ByCondition');
  await model.insert([ada, grace]);
  t.match(await model.updateOne({ age: 36 }, { tags: ['a', 'b'] }), { firstName: 'Ada', tags: ['a', 'b'] });
  t.match(await model.updateOne({ active: false }, { active: true }), { firstName: 'Grace', active: true });
  t.match(await model.updateOne({ firstName: 'nobody', age: 85 }, { age: 86 }, { paramRelationship: 'Or' }), {
    firstName: 'Grace',
    age: 86,
  });
  t.match(await thrown(model.updateOne({ firstName: 'nobody' }, { age: 1 })), /400/);
  t.match(await thrown(model.updateOne({ firstName: 'Ada' }, { age: 'old' } as never)), /400/);
});

t.test('updateOne with a password among the conditions and the changes', async (t) => {
  const model = people('Password');
  await model.insertOne({ ...ada, password: 'first' });
  await model.updateOne({ firstName: 'Ada', password: 'first' }, { password: 'second' });
  t.equal(await model.findOne({ firstName: 'Ada', password: 'first' }), null);
  t.match(await model.findOne({ firstName: 'Ada', password: 'second' }), { age: 36 });
});

t.test('deleteOneById answers the record that was deleted', async (t) => {
  const model = people('Delete');
  const [first, second] = await model.insert([ada, grace]);
  t.strictSame(await model.deleteOneById(first?.id as string), first);
  t.strictSame(await model.find({}), [second]);
  t.match(await thrown(model.deleteOneById(first?.id as string)), /400/);
});

t.test('search', async (t) => {
  const model = people('Search');
  const [first, second] = await model.insert([ada, grace]);
  t.strictSame(await model.search({ searchText: 'AD', searchableFields: ['firstName'] }), [first]);
  t.strictSame(await model.search({ searchText: 'a', searchableFields: ['firstName'] }), [first, second]);
  t.strictSame(
    await model.search(
      { searchText: 'a', searchableFields: ['firstName'] },
      { sort: { by: 'age', order: 'desc' }, pagination: { limit: 1, page: 1 } },
    ),
    [second],
  );
  t.strictSame(await model.search({ searchText: 'zzz', searchableFields: ['firstName'] }), []);
});

t.test('clear', async (t) => {
  const model = people('Clear');
  await model.insert([ada, grace]);
  t.strictSame(await model.clear(), { deleted: 2 });
  t.strictSame(await model.find({}), []);
});

t.test('a key group', async (t) => {
  const settings = createKeyGroup<{ theme: string; size: number; labels: string[] }>({
    space: 'Settings',
    description: 'What the app looks like',
    structure: { theme: { type: String }, size: { type: Number }, labels: { type: Array } },
  } as never);
  t.equal(await settings.getKeys(), null);
  const first = await settings.setKeys({ theme: 'dark' });
  t.match(first, { theme: 'dark', size: null });
  const second = await settings.setKeys({ size: 12, labels: ['a'] });
  t.match(second, { theme: 'dark', size: 12, labels: ['a'] });
  t.strictSame(await settings.getKeys(), second);
  await settings.clear();
  t.equal(await settings.getKeys(), null);
});
