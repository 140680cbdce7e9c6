/** Conditions that hold for every record: a change of many takes them only where the request says that all are meant. */
import t from 'tap';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const space = spaceOf(harness, 'p', 'people', fieldsOf('name TEXT, age NUMBER, tags ARRAY, more OBJECT'));
const records = [{ name: 'Ada', age: 36, tags: ['a'], more: { x: 1 } }, { name: 'Bob' }];
await space.insert(records);

const change = (operation: string, body: object, more: object = {}) =>
  harness.call({ path: `${space.path}/${operation}`, structure: space.structure, body, ...more });
const set = { name: 'changed' };
const no = { id: { in: [] } };
const every = { id: { nin: [] } };

/** Each holds for every record, whatever the records are. */
const always: readonly object[] = [
  {},
  [],
  every,
  { createdAt: { nin: [] } },
  { id: { exists: true } },
  { updatedAt: { exists: true } },
  { id: { nin: [''] } },
  { id: { ne: '' } },
  { id: { gte: '' } },
  { $not: [no] },
  { $not: [no, { id: '' }] },
  { $not: [{ age: { in: [] } }] },
  { $not: [{ tags: { hasAny: [] } }] },
  { $not: [{ id: { exists: false } }] },
  { $or: [{ name: 'Ada' }, every] },
  { $or: [{ name: 'Ada' }, { $not: [no] }] },
  { $or: [{ $or: [{ name: 'Ada' }, { $and: [every, { $not: [no] }] }] }] },
  { $or: [{ age: { exists: true } }, { age: { exists: false } }] },
  { $or: [{ age: { nin: [] } }, { age: { exists: false } }, { name: 'Ada' }] },
  { $or: [{ name: { contains: '' } }, { name: { exists: false } }] },
  { $or: [{ tags: { hasAll: [] } }, { tags: { exists: false } }] },
  { $or: [{ 'more.x': { nin: [] } }, { 'more.x': { exists: false } }] },
  { $not: [{ age: { exists: true }, $and: [{ age: { exists: false } }] }] },
  { $and: [every, { updatedAt: { nin: [] } }] },
  { id: { nin: [], exists: true } },
  { createdAt: { gte: '1970-01-01' } },
  { createdAt: { gt: '0001-01-01' } },
  { updatedAt: { ne: '1969-12-31T23:59:59.999Z' } },
  { updatedAt: { lt: '2200-01-01' } },
  { createdAt: { lte: '9999-12-31T23:59:59Z' } },
  { $not: [{ createdAt: '1900-01-01' }] },
];

/** Each says something of the records, though it may hold for all of them now. */
const telling: readonly object[] = [
  { name: { exists: true } },
  { name: { nin: [] } },
  { name: { ne: '' } },
  { name: { contains: '' } },
  { id: { ne: 'x' } },
  { id: { nin: ['x'] } },
  { id: { gt: '0' } },
  { createdAt: { gte: '2026-01-01' } },
  { createdAt: { gt: '1970-01-01' } },
  { updatedAt: { lt: '2199-12-31' } },
  { $not: [{ name: 'Cid' }] },
  { $or: [{ age: { exists: true } }, { name: { exists: true } }] },
  { $or: [{ age: { exists: false } }, { 'more.x': { exists: true } }, { name: 'Bob' }] },
  { ...every, name: { in: ['Ada', 'Bob'] } },
];

/** Each holds for no record. */
const never: readonly object[] = [
  no,
  { $not: [every] },
  { ...no, name: 'Ada' },
  { $and: [no, every] },
  { id: { exists: false } },
  { id: '' },
];

const stored = async () =>
  (await space.find('$sort=createdAt')).body.map(({ name }: { name: string }) => name);

t.test('conditions that hold for every record change none', async (t) => {
  for (const where of [undefined, ...always]) {
    const what = JSON.stringify(where);
    t.match(await change('_update_', { where, set }), refusal('no_conditions', /"all": true/), what);
    t.match(await change('_delete_', { where }), refusal('no_conditions', /"all": true/), what);
    t.match(await change('_delete_', { where, all: false }), refusal('no_conditions'), what);
  }
  t.strictSame(await stored(), ['Ada', 'Bob']);
});

t.test('so do they in the address, beside those of a body, and joined by Or', async (t) => {
  const inAddress = (query: string, where?: object, headers = {}) =>
    change('_delete_', { where }, { query, headers });
  t.match(await inAddress('id[nin]='), refusal('no_conditions'));
  t.match(await inAddress('id[exists]=true', every), refusal('no_conditions'));
  const or = { options: JSON.stringify({ paramRelationship: 'Or' }) };
  t.match(await inAddress('name=Ada', every, or), refusal('no_conditions'));
  t.match(await inAddress('name=Ada', { id: { exists: false } }, or), { body: { deleted: 1 } });
  await space.insert([records[0]]);
  t.match(await inAddress('name=Ada', every), { body: { deleted: 1 } });
  await space.insert([records[0]]);
  t.strictSame(await stored(), ['Bob', 'Ada']);
});

t.test('conditions that hold for no record change none, and are no mistake', async (t) => {
  for (const where of never) {
    const what = JSON.stringify(where);
    t.match(await change('_update_', { where, set }), { status: 200, body: { updated: 0 } }, what);
    t.match(await change('_delete_', { where }), { status: 200, body: { deleted: 0 } }, what);
    t.match(await change('_delete_', { where, all: true }), { body: { deleted: 0 } }, what);
  }
  t.strictSame(await stored(), ['Bob', 'Ada']);
});

t.test('conditions that say something of records are taken as they are', async (t) => {
  for (const where of telling)
    t.match(await change('_update_', { where, set: { age: 1 } }), { status: 200 }, JSON.stringify(where));
});

t.test('all records are changed where the request says so', async (t) => {
  for (const where of [undefined, ...always])
    t.strictSame(
      (await change('_update_', { where, set: { age: 5 }, all: true })).body,
      { updated: 2 },
      JSON.stringify(where),
    );
  t.match(await change('_delete_', { where: { name: 'Ada' }, all: true }), { body: { deleted: 1 } });
  for (const all of ['true', 1, null, {}])
    t.match(await change('_delete_', { all }), refusal('invalid_body', /all should be true or false/));
  t.strictSame((await change('_delete_', { all: true })).body, { deleted: 1 });
});
