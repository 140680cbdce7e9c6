import t from 'tap';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { queryHarnessFor, refusal, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const reads = new CacheCounts();
const harness = await queryHarnessFor(t, {
  // the least for descriptions: 32 MiB
  config: { recordCacheBytes: 0 },
  metrics: { ...unmeasured, cache: (name) => (name === 'spaces' ? reads : new CacheCounts()) },
});

const text = (name: string, more: object = {}): FieldInput => ({ name, type: 'TEXT', ...more });
const number = (name: string, more: object = {}): FieldInput => ({ name, type: 'NUMBER', ...more });
function space(slug: string, fields: readonly FieldInput[], project = 'p', more: object = {}) {
  return spaceOf(harness, project, slug, fields, more);
}
const stored = (slug: string, headers: Record<string, string> = {}) =>
  harness.call({ path: `/p/${slug}`, headers: { 'use-pre-stored-structure': 'true', ...headers } });
const catalogue = (slug: string) =>
  harness.db.rows<{ version: number; structure: string; name: string }>({
    sql: `SELECT toFloat64(version) AS version, structure, name FROM ${testDatabase}.record_spaces FINAL WHERE slug = '${slug}'`,
  });

t.test('a structure gains and loses fields', async (t) => {
  const before = space('growing', [text('a')]);
  await before.insertOne({ a: 'one' });
  const grown = space('growing', [number('b', { defaultValue: 5 }), text('a'), text('c')]);
  t.match(
    await grown.insertOne({ a: 'x', c: 'y' }, { mutate: 'false' }),
    refusal('invalid_value', /'c' is not in the structure/),
  );
  const frozen = (await grown.find('', {}, { mutate: 'false' })).body;
  t.match(frozen, [{ a: 'one' }]);
  t.strictSame(
    Object.keys(frozen[0]),
    ['id', 'a', 'createdAt', 'updatedAt'],
    'as if the others were not there',
  );
  t.match((await grown.find()).body, [{ a: 'one', b: null, c: null }]);
  t.match((await grown.insertOne({ a: 'two', c: 'x' }, { mutate: 'false' })).body, {
    a: 'two',
    b: 5,
    c: 'x',
  });
  t.strictSame(Object.keys((await grown.find()).body[0]), ['id', 'b', 'a', 'c', 'createdAt', 'updatedAt']);
  t.match((await before.find()).body, [{ a: 'one' }, { a: 'two' }]);
  t.notOk('b' in (await before.find()).body[1], 'the request says which fields it knows');
  await before.insertOne({ a: 'three' });
  t.match((await stored('growing')).body, [
    { a: 'one' },
    { a: 'two', b: 5, c: 'x' },
    { a: 'three', b: null },
  ]);
  t.equal((await catalogue('growing')).length, 1);
});

t.test('types of values that do not convert, and hashing, do not change', async (t) => {
  await space('fixed', [text('a'), text('b'), text('c', { hashed: true })]).insertOne({ a: 'x' });
  t.match(
    await space('fixed', [number('a'), text('b', { hashed: true }), text('c')]).find(),
    refusal(
      'structure_conflict',
      /'a' is stored as TEXT and can not become NUMBER/,
      /'b'.*hashed/,
      /'c'.*unhashed/,
    ),
  );
  await space('fixed', [text('d')]).find();
  t.match(await space('fixed', [number('a')]).find(), { status: 400, problems: [/'a'.*TEXT.*NUMBER/] });
  t.match(
    await space('fixed', fieldsOf('a/x TEXT')).find(),
    refusal('structure_conflict', /'a'.*'a' and 'x'/),
  );
});

t.test('a field is identified by its slug, so it can be renamed', async (t) => {
  await space('renamed', fieldsOf('old/f TEXT')).insertOne({ old: 'x' });
  const after = space('renamed', fieldsOf('new/f TEXT'));
  t.match((await after.find([['new', 'x']])).body, [{ new: 'x' }]);
  t.match((await stored('renamed')).body, [{ new: 'x' }]);
});

t.test('the stored structure follows the first sight of a newer one, and does not flap', async (t) => {
  const a = space('flags', [text('x')]);
  const b = space('flags', [text('x', { defaultValue: 'd', description: 'more' })], 'p', {
    name: 'Flags',
  });
  await a.insertOne({ x: 'x' });
  await b.find();
  t.match(JSON.parse((await catalogue('flags'))[0]?.structure as string), {
    name: 'Flags',
    recordStructure: [{ defaultValue: 'd', description: 'more' }],
  });
  const version = (await catalogue('flags'))[0]?.version;
  for (let i = 0; i < 5; i++) {
    t.equal((await a.find()).status, 200);
    t.equal((await b.find()).status, 200);
  }
  t.equal((await catalogue('flags'))[0]?.version, version);
});

t.test('a structure that was first seen with mutate false is stored when it may be', async (t) => {
  await space('later', [text('x'), text('y')]).make();
  const other = space('later', [text('x', { description: 'new' })]);
  await other.find('', {}, { mutate: 'false' });
  await other.find('', {}, { mutate: 'false' });
  t.notMatch((await catalogue('later'))[0]?.structure, /new/);
  await other.find();
  t.match((await catalogue('later'))[0]?.structure, /new/);
});

t.test('projects and spaces are made as the headers say', async (t) => {
  const fields = [text('a')];
  const noSpace = { 'auto-create-record-space': 'false' };
  const noProject = { 'auto-create-project': 'false' };
  const there = space('there', fields, 'auto');
  t.match(await there.find('', {}, noProject), {
    status: 404,
    code: 'project_not_found',
    problems: [/auto/],
  });
  t.match(await there.find('', {}, noSpace), {
    status: 404,
    code: 'record_space_not_found',
    problems: [/there/],
  });
  t.match(await there.find('', {}, noProject), { status: 404 }, 'a refused request makes no project');
  t.equal((await there.make()).status, 200);
  t.strictSame((await there.find('', {}, { ...noSpace, ...noProject })).body, []);
  t.match(await space('other', fields, 'auto').find('', {}, noSpace), {
    status: 404,
    code: 'record_space_not_found',
  });
  t.equal((await space('other', fields, 'auto').find('', {}, noProject)).status, 200);
  t.match(await stored('nowhere'), {
    status: 404,
    code: 'record_space_not_found',
    problems: [/stored structure/],
  });
  t.match(await harness.call({ path: '/p/there' }), refusal('missing_structure'));
});

t.test('owners do not see each other, whatever their slugs', async (t) => {
  const structure = structureOf('p', 'shared', [text('a')]);
  const call = (owner: string, body?: unknown) =>
    harness.call({ path: '/p/shared', structure, owner, ...(body === undefined ? {} : { body }) });
  await call('ann', [{ a: 'of ann' }]);
  await call('bob', [{ a: 'of bob' }]);
  t.match((await call('ann')).body, [{ a: 'of ann' }]);
  t.match((await call('bob')).body, [{ a: 'of bob' }]);
  t.strictSame((await call('eve')).body, []);
  const peek = { path: '/p/shared', headers: { 'use-pre-stored-structure': 'true' } };
  t.match(await harness.call({ ...peek, owner: 'mallory' }), { status: 404 });
  t.match((await harness.call({ ...peek, owner: 'ann' })).body, [{ a: 'of ann' }]);
});

t.test('slugs of the path', async (t) => {
  for (const [project, slug, count] of [
    ['_x', 'a', 1],
    ['p', 'a\n', 1],
    ['p', '..', 1],
    ['p', 'function', 1],
    ['p`', 'x'.repeat(201), 2],
  ] as const) {
    const answer = await space(slug, [text('a')], project).find();
    t.match(answer, refusal('invalid_slug'));
    t.equal(answer.problems.length, count);
  }
});

t.test('many at once make one space', async (t) => {
  const structures = Array.from({ length: 8 }, (_, i) => [text('a'), number(`n${i}`)]);
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, i) =>
      space('crowd', structures[i % 8] as FieldInput[]).insertOne({ a: `r${i}`, [`n${i % 8}`]: i }),
    ),
  );
  t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
  const { body } = await stored('crowd');
  t.equal(body.length, 64);
  t.equal((await catalogue('crowd')).length, 1);
  t.strictSame(
    body.map(
      (record: Record<string, unknown>) =>
        [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => record[`n${i}`] !== null).length,
    ),
    Array(64).fill(1),
  );
});

t.test('a restart, and a service that forgot everything, find what was there', async (t) => {
  const fields = [text('a', { unique: true }), number('b')];
  const people = space('durable', fields);
  const { body } = await people.insert([{ a: 'x', b: 1 }, { a: 'y' }]);
  harness.forget();
  t.strictSame((await people.find()).body, body);
  await harness.restart();
  t.strictSame((await people.find('', {}, { 'auto-create-record-space': 'false' })).body, body);
  t.match(await people.insertOne({ a: 'x' }), refusal('not_unique'));
  t.strictSame((await stored('durable')).body, body);
  t.match(await space('durable', [number('a')]).find(), refusal('structure_conflict'));
  const more = await people.insertOne({ a: 'z' });
  t.strictSame((await people.find()).body, [...body, more.body]);
});

t.test('a space is complete with its row of the catalogue, for every later request', async (t) => {
  await space('whole', [text('a')]).insertOne({ a: 'x' });
  const before = await storedSpace(harness.db, { project: 'p', slug: 'whole' });
  const tables = () => harness.db.rows({ sql: 'SHOW CREATE TABLE sluice.records' });
  const made = await tables();
  const grown = [number('b', { unique: true }), text('a')];
  await space('whole', grown).find();
  // as if the process had died after its one write
  harness.forget();
  const after = await storedSpace(harness.db, { project: 'p', slug: 'whole' });
  t.equal(after.slots.a, before.slots.a, 'a field stays where it is');
  t.match(after.slots, { a: /^t\d+$/, b: /^n\d+$/ });
  t.match((await space('whole', grown).insertOne({ a: 'y', b: 1 })).body, { a: 'y', b: 1 });
  t.match((await space('whole', grown).insertOne({ b: 1 })).code, 'not_unique');
  t.match((await space('whole', grown).find()).body, [{ a: 'x', b: null }, { b: 1 }]);
  t.strictSame(await tables(), made, 'no request changes the form of the table');
});

t.test('nothing is cleared unless that is allowed', async (t) => {
  const fields = [text('a')];
  const people = space('kept', fields);
  await people.insertOne({ a: 'x' });
  t.match(await people.find('', {}, { 'clear-all-spaces': 'true' }), refusal('clear_not_allowed'));
  t.match(await space('kept', fields, 'p', { clear: true }).find(), refusal('clear_not_allowed'));
  t.equal((await people.find()).body.length, 1);
});

/** Processes that share a store ask it again after a while. */
const shared = process.env.SLUICE_TEST_SERVED !== undefined && 'descriptions age';

t.test(
  'the descriptions of 512 spaces are kept, whatever RECORD_CACHE_BYTES is',
  { skip: shared },
  async (t) => {
    const many = Array.from({ length: 512 }, (_, i) =>
      space(`few-${i}`, fieldsOf('a TEXT unique, b NUMBER')),
    );
    await Promise.all(many.map((one) => one.insertOne({ a: 'x' })));
    const before = reads.misses;
    await Promise.all(many.map((one) => one.find('a=x')));
    t.equal(reads.misses, before);
  },
);

t.test('more spaces than RECORD_CACHE_BYTES has room for are described by the catalogue', async (t) => {
  const fields = Array.from({ length: 100 }, (_, i) => text(`field ${i}`, { comment: 'x'.repeat(600) }));
  const many = Array.from({ length: 60 }, (_, i) => space(`many-${i}`, fields));
  for (const [i, one] of many.entries()) await one.insertOne({ 'field 0': `value ${i}` });
  const isRead = async (i: number) => {
    const before = reads.misses;
    t.match((await many[i]?.find())?.body, [{ 'field 0': `value ${i}` }]);
    return reads.misses > before;
  };
  t.strictSame([await isRead(0), await isRead(0)], [true, false]);
  t.notOk(await isRead(59), 'those of the last requests are kept');
});
