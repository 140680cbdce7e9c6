/** The records that a space begins with: checked like an insert, and stored once, whichever request creates the space. */
import t from 'tap';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { type QueryHarness, queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

const faulty = new FaultyDatabase();
const harness = await queryHarnessFor(t, {
  singleWriter: false,
  config: { allowClearAllSpaces: true },
  wrap: faulty.wrap,
});

const fields: FieldInput[] = [
  { name: 'email', type: 'TEXT', required: true, unique: true },
  { name: 'password', type: 'TEXT', hashed: true },
  { name: 'level', type: 'NUMBER', defaultValue: 1 },
  { name: 'tags', type: 'ARRAY' },
];
const initialData = [
  { email: 'ada@x', password: 'secret-word', tags: ['a', { b: 1 }] },
  { email: 'grace@x', level: 7 },
];
const space = (slug: string, more: object = { initialData }, process: Pick<QueryHarness, 'call'> = harness) =>
  spaceOf(process as QueryHarness, 'p', slug, fields, more);
const rowsOf = async (slug: string): Promise<unknown[]> =>
  harness.db.rows({ sql: `SELECT * FROM ${testDatabase}.record_spaces WHERE slug = '${slug}'` });
/** Texts of initial records that stay in the catalogue after they were stored. */
const leftovers = () =>
  harness.db.rows({
    sql: `SELECT slug FROM ${testDatabase}.record_spaces FINAL WHERE initial_records NOT IN ('', 'begun')`,
  });

t.test('the records are there once, in their order, with hashes and defaults', async (t) => {
  const users = space('users');
  const { body } = await users.find();
  t.match(body, [
    { email: 'ada@x', level: 1, tags: ['a', { b: 1 }] },
    { email: 'grace@x', level: 7, tags: null },
  ]);
  t.notMatch(JSON.stringify(body), /password|argon2|secret-word/);
  t.match((await users.findOne('email=ada@x&password=secret-word')).body, { email: 'ada@x' });
  t.equal((await users.findOne('email=ada@x&password=other')).body, null);
  t.strictSame((await users.find()).body, body);
  harness.forget();
  t.strictSame((await users.find()).body, body);
  t.strictSame((await space('users', {}).find()).body, body);
  t.match(await users.insertOne({ email: 'ada@x' }), { status: 400, code: 'not_unique' });
  t.notMatch(JSON.stringify(await rowsOf('users')), /secret-word/, 'not in the catalogue either');
  t.strictSame(await leftovers(), []);
});

t.test('what was deleted does not come back', async (t) => {
  await space('cleared').find();
  t.strictSame((await space('cleared', { initialData, clear: true }).find()).body, []);
  harness.forget();
  t.strictSame((await space('cleared').find()).body, []);
  await harness.restart();
  t.strictSame((await space('cleared').find()).body, []);
});

t.test('an empty space gets them later, once', async (t) => {
  await space('later', {}).make();
  t.match(await space('later', { initialData: [{ nosuch: 1 }] }).find(), {
    status: 400,
    code: 'invalid_structure',
    problems: [/'nosuch'/, /'email' is required/],
  });
  t.strictSame((await space('later', {}).find()).body, []);
  const structure = structureOf('p', 'later', fields, { initialData });
  const reading = { path: '/p/later', structure };
  t.strictSame((await harness.call({ ...reading, headers: { mutate: 'false' } })).body, []);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      space('later', { initialData }, i % 2 ? harness.another() : harness).find(),
    ),
  );
  for (const { body } of answers) t.match(body, [{ email: 'ada@x' }, { email: 'grace@x' }]);
  await space('later').clear();
  harness.forget();
  t.strictSame((await space('later').find()).body, [], 'what was deleted does not come back');
  t.strictSame((await space('later', { initialData: [{ email: 'new@x' }] }).find()).body, []);
  t.strictSame(await leftovers(), []);
});

t.test('a space with records gets none, also not when it is empty later', async (t) => {
  const plain = space('existing', {});
  await plain.insertOne({ email: 'first@x' });
  t.match((await space('existing').find()).body, [{ email: 'first@x' }]);
  t.equal((await space('existing', { initialData: [{ nosuch: 1 }] }).find()).body.length, 1);
  await plain.clear();
  harness.forget();
  t.strictSame((await space('existing').find()).body, []);
});

t.test('a space is not made with bad initial data; every problem is listed', async (t) => {
  for (const [index, [bad, ...problems]] of (
    [
      [
        [{ level: 'x', nosuch: 1 }, { email: 1 }, 5],
        /'email' is required.*index 0/,
        /'level'/,
        /'nosuch'/,
        /'email' should.*index 1/,
        /index 2/,
      ],
      [[{ email: 'a' }, { email: 'a' }], /'email' is unique/],
      [[{ email: 'a', id: 'x' }], /'id' is set by the service/],
      [[{}], /at least one field/],
      [[null], /JSON object/],
      [[{ email: '\ud800' }], /surrogate/],
      [[{ email: 'a\uFFFD' }], /not valid UTF-8/],
    ] as [unknown[], ...RegExp[]][]
  ).entries()) {
    const slug = `bad${index}`;
    const answer = await space(slug, { initialData: bad }).insertOne({ email: 'x' });
    t.match(answer, { status: 400, code: 'invalid_structure' }, JSON.stringify(bad));
    for (const problem of problems) t.match(answer.problems.join('\n'), problem);
    t.strictSame(await rowsOf(slug), []);
    t.strictSame((await space(slug, {}).find()).body, [], 'it can be made without');
  }
  const elsewhere = await harness.call({
    path: '/fresh/bad',
    structure: structureOf('fresh', 'bad', fields, { initialData: [{}] }),
  });
  t.equal(elsewhere.status, 400);
  t.strictSame(
    await harness.db.rows({ sql: `SELECT 1 FROM ${testDatabase}.projects WHERE slug = 'fresh'` }),
    [],
  );
});

t.test('hostile values are stored as they are', async (t) => {
  const emails = ["'; DROP TABLE x; --", '\\', '\t\n', '\0', '`', '{x:String}', '😀', '\u2028', ''];
  const { body } = await space('hostile', { initialData: emails.map((email) => ({ email })) }).find();
  t.strictSame(
    body.map(({ email }: { email: string }) => email),
    emails,
  );
});

t.test('many requests of one process, and of several, make it once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const slug = `crowd${round}`;
    const processes = Array.from({ length: 4 }, () => harness.another());
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => space(slug, { initialData }, processes[i % 4]).find()),
    );
    for (const { status, body } of answers) {
      t.equal(status, 200);
      t.equal(body.length, 2);
      t.strictSame(body, answers[0]?.body);
    }
    t.strictSame(await leftovers(), []);
  }
});

t.test('of two that begin it with different records one wins', async (t) => {
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((email) => space('contest', { initialData: [{ email }] }, harness.another()).find()),
  );
  for (const { body } of answers) t.strictSame(body, answers[0]?.body);
  t.equal(answers[0]?.body.length, 1);
});

t.test('a process that dies on the way leaves it to the next', async (t) => {
  // the last one: the records are there, and nobody knows
  for (const [index, step] of ['records', 'record_spaces'].entries()) {
    const slug = `died${index}`;
    // the first version of a space decides on it, the second one says that its records are there
    let versions = 0;
    faulty.fails = ({ verb, table }) =>
      verb === 'INSERT' && table === step && (table !== 'record_spaces' || ++versions === 2);
    await t.rejects(space(slug).find(), { message: 'disk full' }, step);
    faulty.fails = () => false;
    t.equal((await rowsOf(slug)).length, 1, 'the space is decided on');
    harness.forget();
    // the next request need not know of the records, or may want others
    const next = index % 2 === 0 ? space(slug, {}) : space(slug, { initialData: [{ email: 'other' }] });
    t.match((await next.find()).body, [{ email: 'ada@x' }, { email: 'grace@x' }]);
    t.match((await next.findOne('email=ada@x&password=secret-word')).body, { email: 'ada@x' });
    t.strictSame(await leftovers(), []);
    harness.forget();
    t.equal((await space(slug).find()).body.length, 2);
    t.match(await space(slug).insertOne({ email: 'ada@x' }), { status: 400, code: 'not_unique' });
  }
});

t.test('set-structure makes a space with its records', async (t) => {
  const structure = JSON.parse(structureOf('p', 'set', fields, { initialData }));
  const { status, text } = await harness.call({ path: '/p/set/set-structure', body: structure });
  t.equal(status, 200);
  t.notMatch(text, /initialData|secret-word/);
  t.equal((await space('set', {}).find()).body.length, 2);
});
