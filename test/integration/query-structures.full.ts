/** How stored structures change: required and unique, set and inferred, and two processes at once. */
import t from 'tap';
import {
  type QueryHarness,
  queryHarnessFor,
  refusal,
  spaceOf,
  testDatabase,
} from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t, { singleWriter: false });

const text = (name: string, more: object = {}): FieldInput => ({ name, type: 'TEXT', ...more });
const number = (name: string, more: object = {}): FieldInput => ({ name, type: 'NUMBER', ...more });
type Process = Pick<QueryHarness, 'call'>;
const space = (slug: string, fields: readonly FieldInput[], more: object = {}, process: Process = harness) =>
  spaceOf(process as QueryHarness, 'p', slug, fields, more);
const storedStructure = async (slug: string) => {
  const [row] = await harness.db.rows<{ structure: string; version: number }>({
    sql: `SELECT structure, toFloat64(version) AS version FROM ${testDatabase}.record_spaces FINAL WHERE slug = '${slug}'`,
  });
  return { ...JSON.parse(row?.structure ?? 'null'), version: row?.version };
};
const setStructure = (
  slug: string,
  body: unknown,
  headers: Record<string, string> = {},
  process: Process = harness,
) => process.call({ path: `/p/${slug}/set-structure`, body, headers });

t.test('required is switched on only when every record has a value', async (t) => {
  const before = space('required', [text('a'), text('b')]);
  await before.insert([{ a: 'x' }, { a: 'y', b: 'z' }, { b: 'z' }]);
  const version = (await storedStructure('required')).version;
  const after = space('required', [text('a', { required: true }), text('b', { required: true }), text('c')]);
  t.match(
    await after.find(),
    refusal(
      'structure_conflict',
      "Field 'a' can not become required: 1 stored record has no value",
      "Field 'b' can not become required: 1 stored record has no value",
    ),
  );
  t.match(await storedStructure('required'), { version, recordStructure: [{ required: false }, {}] });
  t.equal((await before.find()).body.length, 3, 'nothing changed');
  t.match((await before.insertOne({ a: 'w' })).status, 200);
  const onlyA = space('required', [text('a')]);
  t.equal((await onlyA.find()).status, 200);
  const stored = await storedSpace(harness.db, { project: 'p', slug: 'required' });
  await stored.remove(`${stored.column('a')} IS NULL OR ${stored.column('b')} IS NULL`);
  t.match((await after.find()).body, [{ a: 'y', b: 'z' }]);
  t.match(await after.insertOne({ a: 'w' }), { status: 400, problems: [/'b' is required/] });
  t.match(
    await onlyA.insertOne({ a: 'w' }),
    { status: 200 },
    'a request that does not know b can not give it',
  );
});

t.test('unique is switched on only when no two records have the same value', async (t) => {
  const before = space('unique', [text('a'), number('n')]);
  await before.insert([
    { a: 'x', n: 1 },
    { a: 'x', n: 2 },
    { a: 'x' },
    { a: 'y', n: 2 },
    { a: null },
    { a: null },
  ]);
  const after = space('unique', [text('a', { unique: true }), number('n', { unique: true })]);
  t.match(
    await after.insertOne({ a: 'new', n: 9 }),
    refusal(
      'structure_conflict',
      "Field 'a' can not become unique: 3 stored records have the value 'x'",
      "Field 'n' can not become unique: 2 stored records have the value '2'",
    ),
  );
  t.equal((await before.find()).body.length, 6, 'nothing changed');
  const stored = await storedSpace(harness.db, { project: 'p', slug: 'unique' });
  const [a, n] = [stored.column('a'), stored.column('n')];
  await stored.remove(`${n} = 2 OR (${a} = 'x' AND ${n} IS NULL)`);
  t.equal((await after.find()).status, 200, 'records without a value do not count');
  t.match(await after.insertOne({ a: 'x' }), refusal('not_unique'));
  t.match(await before.insertOne({ a: 'x' }), { status: 200 }, 'who says it is not unique switches it off');
  t.match(await after.find(), refusal('structure_conflict'));
});

t.test('mutate false: the stored flags count', async (t) => {
  const strict = space('frozen', [text('a', { unique: true, required: true }), text('b')]);
  await strict.insertOne({ a: 'x' });
  const loose = space('frozen', [text('a'), text('b')]);
  const headers = { mutate: 'false' };
  t.match(await loose.insertOne({ a: 'x' }, headers), refusal('not_unique'));
  t.match(await loose.insertOne({ b: 'x' }, headers), { status: 400, problems: [/'a' is required/] });
  t.match((await storedStructure('frozen')).recordStructure[0], { unique: true, required: true });
  t.match(await loose.insertOne({ b: 'x' }), { status: 200 });
});

t.test('odd values and names stand in the way as well', async (t) => {
  const names = ['value', 'times', '`', "'; DROP TABLE x; --"];
  const fields = names.map((name, i) => text(name, { slug: i < 2 ? name : `f${i}` }));
  const values = ['', "\\'", '\0', '😀'.repeat(200)];
  const before = space('odd', fields);
  const records = names.map((_, i) => Object.fromEntries(names.map((name) => [name, values[i]])));
  await before.insert([...records, ...records]);
  for (const flag of ['unique', 'required']) {
    const answer = await space(
      'odd',
      fields.map((field) => ({ ...field, [flag]: true })),
    ).find();
    if (flag === 'required') t.equal(answer.status, 200);
    else t.equal(answer.problems.length, 4, answer.problems.join('\n'));
  }
  await before.insertOne({ value: 'only this' });
  const answer = await space(
    'odd',
    fields.map((field) => ({ ...field, required: true })),
  ).find();
  t.equal(answer.problems.length, 3, answer.problems.join('\n'));
});

t.test('two clients that differ in a flag switch it only so often', async (t) => {
  const off = space('turns', [text('a')]);
  const on = space('turns', [text('a', { unique: true })]);
  await off.insertOne({ a: 'x' });
  for (let i = 0; i < 40; i++) {
    t.equal((await on.find()).status, 200);
    t.equal((await off.find()).status, 200);
  }
  const { version, recordStructure } = await storedStructure('turns');
  t.ok(version < 25, `version ${version}`);
  t.match(recordStructure, [{ unique: true }], 'the stricter rule stays');
  t.match(await off.insertOne({ a: 'x' }), refusal('not_unique'));
});

t.test('a rule that is switched on waits for writes that began without it', async (t) => {
  const off = space('race', [text('a')]);
  const on = space('race', [text('a', { unique: true })]);
  for (let round = 0; round < 10; round++) {
    const writes = Array.from({ length: 8 }, () => off.insertOne({ a: `r${round}` }));
    const switching = on.find();
    const written = await Promise.all(writes);
    const outcome = await switching;
    const stored = await storedSpace(harness.db, { project: 'p', slug: 'race' });
    const rows = await stored.rows(`${stored.column('a')} AS a`, 'GROUP BY a HAVING count() > 1');
    const { recordStructure } = await storedStructure('race');
    if (outcome.status === 200 && recordStructure[0].unique) t.strictSame(rows, [], `round ${round}`);
    else t.match(outcome, { code: 'structure_conflict' });
    t.ok(written.every(({ status }) => status === 200 || status === 400));
    await stored.remove();
    harness.forget();
  }
});

t.test('set-structure stores a structure and answers it', async (t) => {
  const structure = JSON.parse(structureOf('p', 'set', [text('a', { description: 'first' }), number('b')]));
  const { status, body } = await setStructure('set', structure);
  t.equal(status, 200);
  t.strictSame(body, { ...structure, recordFieldStructures: structure.recordStructure }, 'under both names');
  t.match(await harness.call({ path: '/p/set', headers: { 'use-pre-stored-structure': 'true' } }), {
    status: 200,
    body: [],
  });
  const again = await setStructure('set', {
    name: 'Set',
    recordStructure: [{ name: 'a', slug: 'a', type: 'TEXT' }],
  });
  t.match(again.body, {
    name: 'Set',
    projectSlug: 'p',
    slug: 'set',
    recordStructure: [{ name: 'a', description: '' }, { name: 'b' }],
  });
  t.equal(again.body.recordStructure.length, 2, 'a field that is left out stays, as its values do');
  await space('set', [text('a', { description: 'first' })]).find();
  t.match((await setStructure('set', { ...structure, description: 'new' })).body, { description: 'new' });
  t.match((await setStructure('set', structure)).body, structure, 'what was set before can be set again');
});

t.test('set-structure refuses what a header may not say', async (t) => {
  await space('wrong', [text('a')]).insertOne({ a: 'x' });
  const refused = async (body: unknown, code: string, ...problems: RegExp[]) => {
    const answer = await setStructure('wrong', body);
    t.match(answer, { status: 400, code }, JSON.stringify(body));
    for (const problem of problems) t.match(answer.problems.join('\n'), problem);
  };
  for (const body of ['', '{', 'null', '[]', '"x"', 1]) await refused(body, 'invalid_body');
  await refused({}, 'invalid_structure', /recordStructure/);
  await refused(
    { projectSlug: 'q', slug: 'other', recordStructure: [] },
    'invalid_structure',
    /'q'/,
    /'other'/,
  );
  await refused(
    {
      recordStructure: [{ name: 'a', slug: 'a\u0001', type: 'UUID' }],
      authOptions: 1,
      webhooks: 1,
      initialData: 1,
    },
    'invalid_structure',
    /UUID/,
    /slug that has control characters/,
    /authOptions/,
    /webhooks/,
    /initialData/,
  );
  await refused(
    { recordStructure: [{ name: 'a', slug: 'a', type: 'NUMBER' }] },
    'structure_conflict',
    /'a'.*TEXT.*NUMBER/,
  );
  await refused({ clear: true, recordStructure: [] }, 'clear_not_allowed');
  t.match(await space('wrong', [text('a')], { clear: true }).find(), refusal('clear_not_allowed'));
  t.match(
    await setStructure(
      'wrong',
      { recordStructure: [{ name: 'b', slug: 'b', type: 'TEXT' }] },
      { mutate: 'false' },
    ),
    {
      code: 'structure_conflict',
    },
  );
  t.match(await setStructure('function', { recordStructure: [] }), { code: 'invalid_slug' });
  t.match(await setStructure('nowhere', { recordStructure: [] }, { 'auto-create-record-space': 'false' }), {
    status: 404,
    code: 'record_space_not_found',
  });
});

t.test('inferred structures', async (t) => {
  const sample = { id: 'x', firstName: 'Ada', age: 36, active: true, tags: ['a'], home: { city: 'London' } };
  const got = await harness.call({ path: '/p/inferred/get-inferred-structure', body: sample });
  t.match(got.body, {
    name: 'inferred',
    projectSlug: 'p',
    slug: 'inferred',
    recordStructure: [
      { name: 'firstName', slug: 'first-name', type: 'TEXT', required: false, unique: false, hashed: false },
      { slug: 'age', type: 'NUMBER' },
      { slug: 'active', type: 'BOOLEAN' },
      { slug: 'tags', type: 'ARRAY' },
      { slug: 'home', type: 'OBJECT' },
    ],
  });
  t.match(await harness.call({ path: '/p/inferred', headers: { 'use-pre-stored-structure': 'true' } }), {
    status: 404,
  });
  const set = await harness.call({ path: '/p/inferred/set-inferred-structure', body: sample });
  t.strictSame(set.body, got.body);
  const usePreStored = { 'use-pre-stored-structure': 'true' };
  const { id: _, ...record } = sample;
  t.match(
    (await harness.call({ path: '/p/inferred/_single_', body: record, headers: usePreStored })).body,
    record,
  );
  for (const operation of ['get', 'set']) {
    const path = `/p/inferred/${operation}-inferred-structure`;
    t.match(
      await harness.call({ path, body: { a: null, b: null, age: 1 } }),
      refusal('invalid_value', /'a' is null/, /'b' is null/),
    );
    for (const body of ['', 'null', '[]', '{}', '"x"']) {
      t.match(await harness.call({ path, body }), refusal('invalid_body'));
    }
  }
  t.match(await harness.call({ path: '/p/inferred/set-inferred-structure', body: { tags: 'x' } }), {
    code: 'structure_conflict',
  });
});

t.test('two processes: a change of one reaches the other, and no change is lost', async (t) => {
  const one = harness.another();
  const two = harness.another();
  await space('pair', [text('a')], {}, one).make();
  await space('pair', [text('a')], {}, two).find();
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, i) =>
      space('pair', [text('a'), text(`f${i}`)], {}, i % 2 === 0 ? one : two).insertOne({
        a: 'x',
        [`f${i}`]: `v${i}`,
      }),
    ),
  );
  for (const { status, body } of answers) t.equal(status, 200, JSON.stringify(body));
  const stored = await storedStructure('pair');
  const slugs = stored.recordStructure.map(({ slug }: { slug: string }) => slug).sort();
  t.strictSame(slugs, ['a', ...Array.from({ length: 24 }, (_, i) => `f${i}`)].sort());
  t.equal(stored.version, 25);
  const three = harness.another();
  const all = await three.call({ path: '/p/pair', headers: { 'use-pre-stored-structure': 'true' } });
  t.equal(all.body.length, 24);
  for (let i = 0; i < 24; i++) {
    const having = all.body.filter((record: Record<string, unknown>) => record[`f${i}`] === `v${i}`);
    t.equal(having.length, 1, `f${i}`);
  }
});

t.test('two processes that make one space with different structures', async (t) => {
  for (let round = 0; round < 5; round++) {
    const slug = `made${round}`;
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        space(slug, [text('a'), number(`n${i}`)], {}, harness.another()).insertOne({
          a: `v${i}`,
          [`n${i}`]: i,
        }),
      ),
    );
    for (const { status, problems } of answers) t.equal(status, 200, problems.join());
    const stored = await storedStructure(slug);
    t.equal(stored.recordStructure.length, 7);
    t.equal((await space(slug, [text('a')]).find()).body.length, 6);
    const rows = await harness.db.rows({
      sql: `SELECT 1 FROM ${testDatabase}.record_spaces FINAL WHERE slug = '${slug}'`,
    });
    t.equal(rows.length, 1);
  }
});

t.test('two processes that disagree on a type: one is refused, and all see the same', async (t) => {
  // who is second waits until the first one's value is there for certain
  for (let round = 0; round < 2; round++) {
    const slug = `types${round}`;
    const answers = await Promise.all([
      space(slug, [text('x')], {}, harness.another()).insertOne({ x: 'text' }),
      space(slug, fieldsOf('x ARRAY'), {}, harness.another()).insertOne({ x: [1] }),
    ]);
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 400]);
    t.match(
      answers.find(({ status }) => status === 400),
      { code: 'structure_conflict', problems: [/'x' is stored as/] },
    );
    const stored = await storedStructure(slug);
    const winner = answers[0]?.status === 200 ? 'TEXT' : 'ARRAY';
    t.match(stored.recordStructure, [{ slug: 'x', type: winner }]);
    const read = await harness
      .another()
      .call({ path: `/p/${slug}`, headers: { 'use-pre-stored-structure': 'true' } });
    t.match(read.body, [{ x: winner === 'TEXT' ? 'text' : [1] }]);
  }
});

t.test('structures and their history survive a restart', async (t) => {
  const before = await storedStructure('pair');
  await harness.restart();
  t.strictSame(await storedStructure('pair'), before);
  t.equal((await space('pair', [text('a'), text('later')]).find()).status, 200);
  t.equal((await storedStructure('pair')).version, before.version + 1);
});
