/** Every operation that writes gives its space another version before it is acknowledged, and no other does. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { unavailable } from '#kernel/errors/catalogue.ts';
import type { SpaceVersions } from '#records/store-shared/space-versions.ts';
import { createLocalVersions } from '../services/local-versions.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

// long enough that only a change ends a version
const local = createLocalVersions({ lifetime: 3_600_000 });
const ids = new Set<string>();
/** Others can't be told of a write. */
let away = false;
const versions: SpaceVersions = {
  read: (id) => local.read(id),
  async begin(id) {
    await nextTurn();
    if (away) throw unavailable('Redis is away');
    ids.add(id);
    const end = await local.begin(id);
    return async () => {
      // others know of the end later than who writes
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      await end();
    };
  },
};
/** The next INSERT of several records fails. */
let failsTogether = false;
const harness = await queryHarnessFor(t, {
  singleWriter: false,
  wrap: (db) => ({
    ...db,
    insert(statement) {
      const isShared = Buffer.from(statement.lines).toString().trimEnd().includes('\n');
      if (!failsTogether || !isShared) return db.insert(statement);
      failsTogether = false;
      return Promise.reject(new Error('these together fail'));
    },
  }),
  versions: () => versions,
  config: { allowClearAllSpaces: true },
});

const fields = fieldsOf('email TEXT unique, n NUMBER');
const structure = structureOf('p', 'people', fields);
const people = spaceOf(harness, 'p', 'people', structure);
const { body: first } = await people.insertOne({ email: 'first', n: 0 });
const [space] = [...ids] as [string];
const keys = spaceOf(harness, 'p', 'settings', fieldsOf('k TEXT'));

/** Whether the version is another one after the work. */
async function changes(id: string, work: () => Promise<{ status: number }>): Promise<boolean> {
  const before = await local.read(id);
  const { status } = await work();
  if (status !== 200) throw new Error(`answered ${status}`);
  const after = await local.read(id);
  if (after === null) throw new Error('acknowledged before the others know of it');
  return after !== before;
}
const post = (path: string, body: unknown, headers = {}) => harness.call({ path, body, headers, structure });

t.test('what writes', async (t) => {
  const wider = structureOf('p', 'people', [...fields, { name: 'more', type: 'TEXT' }]);
  const cleared = structureOf('p', 'people', fields, { clear: true });
  for (const [name, work] of [
    ['insert', () => people.insert([{ email: 'a' }, { email: 'b' }])],
    ['insertOne', () => people.insertOne({ email: 'c' })],
    ['updateOne', () => people.updateOne([['email', 'a']], { n: 5 })],
    ['updateOneById', () => people.updateOneById(first.id, { n: 7 })],
    ['updateOneById of a unique field', () => people.updateOneById(first.id, { email: 'other' })],
    ['deleteOneById', () => people.deleteOneById(first.id)],
    ['a structure that brings a field', () => spaceOf(harness, 'p', 'people', wider).find()],
    [
      'set-structure',
      () => post('/p/people/set-structure', JSON.parse(structureOf('p', 'people', fieldsOf('x TEXT')))),
    ],
    ['set-inferred-structure', () => post('/p/people/set-inferred-structure', { inferred: 1 })],
    ['clear', () => people.clear()],
    ['clear in a structure', () => spaceOf(harness, 'p', 'people', cleared).find()],
    ['clear-all-spaces', () => keys.find('', undefined, { 'clear-all-spaces': 'true' })],
  ] as const) {
    t.ok(await changes(space, work), name);
  }
  await keys.find();
  ids.clear();
  await keys.setKeys({ k: 'made' });
  const [settings] = [...ids] as [string];
  t.ok(await changes(settings, () => keys.setKeys({ k: 'changed' })), 'setKeys');
  ids.clear();
  const more = { initialData: [{ n: 1 }] };
  await spaceOf(harness, 'p', 'begun', fieldsOf('n NUMBER'), more).find();
  t.equal(ids.size, 1, 'initialData');
});

t.test('records whose shared INSERT failed, and that are stored one by one', async (t) => {
  failsTogether = true;
  // how many share one depends on when each has its turn
  for (let round = 0; failsTogether && round < 100; round++) {
    const emails = Array.from({ length: 10 }, (_, i) => `shared ${round} ${i}`);
    const answers = await Promise.all(emails.map((email) => people.insertOne({ email })));
    for (const { status } of answers) t.equal(status, 200);
  }
  t.notOk(failsTogether, 'some shared one');
  t.not(await local.read(space), null, 'nobody seems to write any more');
});

t.test('what does not write', async (t) => {
  await people.insert([{ email: 'x', n: 1 }]);
  for (const [name, work] of [
    ['find', () => people.find()],
    ['findOne', () => people.findOne([['n', '1']])],
    ['search', () => people.search('x', ['email'])],
    ['getKeys', () => people.getKeys()],
    ['get-inferred-structure', () => post('/p/people/get-inferred-structure', { a: 1 })],
  ] as const) {
    t.notOk(await changes(space, work), name);
  }
  const before = await local.read(space);
  t.equal((await people.insertOne({ email: 'x' })).code, 'not_unique');
  t.equal(await local.read(space), before, 'nor what is refused');
});

t.test('a client that has gone: what it wrote changes the version all the same', async (t) => {
  for (let i = 0; i < 5; i++) {
    const before = await local.read(space);
    const gone = new AbortController();
    const inserting = harness
      .call({ path: '/p/people/_single_', structure, body: { email: `gone ${i}` }, signal: gone.signal })
      .catch(() => null);
    setTimeout(() => gone.abort(new Error('gone')), i);
    await inserting;
    while ((await people.find([['email', `gone ${i}`]])).body.length === 0) {
      // it is not stored, or not yet
      if ((await people.insertOne({ email: `gone ${i}` })).status === 200) break;
    }
    // by the time at which the row can be seen and its INSERT has settled
    for (let now: string | null = before; now === before || now === null; now = await local.read(space))
      await new Promise((resolve) => setTimeout(resolve, 1));
  }
  t.pass();
});

t.test('versions of one process: bounded in number and time', async (t) => {
  const few = createLocalVersions({ lifetime: 20, spaceLimit: 2 });
  const version = await few.read('a');
  await few.read('b');
  await few.read('c');
  t.not(await few.read('a'), version);
  const short = await few.read('c');
  await new Promise((resolve) => setTimeout(resolve, 40));
  t.not(await few.read('c'), short);
});

t.test('a write that others can not be told of is not made', async (t) => {
  // who keeps nothing yet
  const stored = async () => (await spaceOf(harness.another(), 'p', 'people', structure).find()).body;
  const many = Array.from({ length: 300 }, (_, n) => ({ email: `many ${n}` }));
  const [{ id }] = await stored();
  const before = await stored();
  away = true;
  for (const [name, work] of [
    ['insert', () => people.insert([{ email: 'a' }, { email: 'b' }])],
    ['a large insert', () => people.insert(many)],
    ['insertOne', () => people.insertOne({ email: 'c' })],
    ['updateOne', () => people.updateOne([['email', 'x']], { n: 5 })],
    ['updateOneById', () => people.updateOneById(id, { n: 7 })],
    ['updateOneById of a unique field', () => people.updateOneById(id, { email: 'other' })],
    ['deleteOneById', () => people.deleteOneById(id)],
    ['clear', () => people.clear()],
  ] as const) {
    t.match(await work(), { status: 503, code: 'unavailable' }, name);
    t.strictSame(await stored(), before, name);
  }
  away = false;
  t.equal((await people.insertOne({ email: 'c' })).status, 200, 'a value that was refused is free');
});
