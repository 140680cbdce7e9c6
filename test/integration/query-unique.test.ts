import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import type { ReadStatement } from '#engine/database.ts';
import { FaultyDatabase, isRecordWrite } from '../services/faulty-database.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const faulty = new FaultyDatabase();
/** Called when stored values were checked for a rule. */
let onCheck: () => Promise<void> = async () => {};
/** Statements that the engine has. */
let running = 0;
async function counted<Result>(statement: Promise<Result>): Promise<Result> {
  running++;
  try {
    return await statement;
  } finally {
    running--;
  }
}
/** When nothing goes on any more but what a test holds up. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 20; turns = running === 0 ? turns + 1 : 0) await nextTurn();
}
/** Statements that read a column, and what its bounds are replaced by. */
const reads = { count: 0, bound: '' };
function bounded(sql: string): string {
  if (!sql.includes('max_bytes_to_read')) return sql;
  reads.count++;
  return reads.bound === '' ? sql : sql.replace(new RegExp(`${reads.bound} = \\d+`), `${reads.bound} = 1`);
}
// the way of a store that several processes write to: statements, which the tests hold up and fail
const harness = await queryHarnessFor(t, {
  singleWriter: false,
  wrap: (db) =>
    faulty.wrap({
      ...db,
      insert: (statement) => counted(db.insert(statement)),
      command: (statement) => counted(db.command(statement)),
      async rows<Row>(given: ReadStatement) {
        const statement = { ...given, sql: bounded(given.sql) };
        const rows = await counted(db.rows<Row>(statement));
        if (statement.sql.includes('AS _times')) await onCheck();
        return rows;
      },
    }),
});

const users: FieldInput[] = fieldsOf(
  'email TEXT unique, code NUMBER unique, flag BOOLEAN unique, tags ARRAY unique, other TEXT',
);
function space(slug: string, fields: readonly FieldInput[] = users) {
  return spaceOf(harness, 'u', slug, fields);
}
const count = (answers: readonly { status: number }[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

t.test('of 200 equal inserts at once exactly one is stored', async (t) => {
  const people = space('race');
  const single = await Promise.all(Array.from({ length: 200 }, () => people.insertOne({ email: 'a@x' })));
  t.equal(count(single, 200), 1);
  t.equal(count(single, 400), 199);
  t.match(
    single.find(({ status }) => status === 400),
    { code: 'not_unique', problems: [/'email'/] },
  );
  const again = await Promise.all(Array.from({ length: 200 }, () => people.insertOne({ email: 'a@x' })));
  t.equal(count(again, 400), 200);
  t.equal((await people.find()).body.length, 1);
});

t.test('overlapping batches at once: all or nothing, every value once', async (t) => {
  const people = space('batches');
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      people.insert(
        Array.from({ length: 10 }, (_, j) => ({ email: `v${(i * 5 + j) % 100}`, other: `b${i}` })),
      ),
    ),
  );
  const { body } = await people.find();
  t.equal(body.length, count(answers, 200) * 10);
  t.equal(count(answers, 200) + count(answers, 400), 60);
  t.ok(count(answers, 200) > 0);
  t.equal(new Set(body.map(({ email }: { email: string }) => email)).size, body.length);
});

t.test(
  'many values at once are found in their column, or by the index where that would read too much',
  async (t) => {
    const fields: FieldInput[] = [
      ...fieldsOf(
        'name TEXT unique, code NUMBER unique, at DATETIME unique, day DATE unique, big BIGINT unique',
      ),
      ...fieldsOf('count INTEGER unique, list ARRAY unique, other TEXT'),
      { name: 'price', type: 'DECIMAL', precision: 38, scale: 3, unique: true },
    ];
    const makeValue: Readonly<Record<string, (i: number) => unknown>> = {
      name: (i) => `it's "${i}", \\ \0\n\t ä`,
      code: (i) => ((i - 200) / 7) * (i % 9 === 0 ? 1e200 : 1),
      at: (i) => `2026-01-01T00:00:00.${String(i).padStart(6, '0')}Z`,
      day: (i) => new Date(i * 86_400_000).toISOString().slice(0, 10),
      big: (i) => String(2n ** 63n - 1n - BigInt(i)),
      count: (i) => 2 ** 53 - 1 - i,
      list: (i) => [i, `'${i}'`, { a: null }],
      price: (i) => `${10n ** 34n + BigInt(i)}.125`,
    };
    const records = (from: number, count: number, name: string) =>
      Array.from({ length: count }, (_, i) => ({ [name]: makeValue[name]?.(from + i) }));
    const people = space('columns', fields);
    for (const name of Object.keys(makeValue))
      t.equal((await people.insert(records(0, 400, name))).status, 200, name);
    let fresh = 1000;
    for (const [bound, count] of [
      ['', 150],
      ['', 400],
      ['max_rows_to_read', 400],
      ['max_bytes_to_read', 400],
    ] as const) {
      Object.assign(reads, { bound, count: 0 });
      fresh += 1000;
      for (const name of Object.keys(makeValue)) {
        const what = `${name}, ${count} ${bound}`;
        const taken = await people.insert(records(399, count, name));
        t.match(taken, refusal('not_unique', new RegExp(`'${name}'`)), `${what}: the first is stored`);
        t.match(await people.insert(records(0, count, name)), { status: 400 }, `${what}: all are stored`);
        t.equal((await people.insert(records(fresh, count, name))).status, 200, `${what}: new ones`);
      }
      t.equal(reads.count > 0, count >= 200, 'only many values are worth it');
    }
    reads.bound = '';
  },
);

t.test('every type, within a request and against the table', async (t) => {
  const people = space('types');
  const long = 'x'.repeat(5000);
  const first = await people.insertOne({
    email: "it's \\ \0",
    code: 0.1,
    flag: true,
    tags: [{ b: 1, a: 2 }],
  });
  t.equal(first.status, 200, first.problems.join());
  await people.insertOne({ email: long });
  for (const [record, name] of [
    [{ email: "it's \\ \0" }, 'email'],
    [{ email: long }, 'email'],
    [{ code: 0.1 }, 'code'],
    [{ flag: true }, 'flag'],
    [{ tags: [{ a: 2, b: 1 }] }, 'tags'],
  ] as const) {
    t.match(await people.insertOne(record), refusal('not_unique', new RegExp(`'${name}'`)));
  }
  t.match(await people.insertOne({ email: long, code: 0.1, flag: true }), {
    status: 400,
    problems: [/'email'/, /'code'/, /'flag'/],
  });
  t.match(
    await people.insert([{ code: 1 }, { code: 1.0 }, { email: 'q' }, { email: 'q' }]),
    refusal('not_unique', /'email'.*two/, /'code'.*two/),
  );
  t.match(await people.insert([{ code: 0 }, { code: -0 }]), { status: 400 });
  t.equal((await people.insertOne({ code: -0 })).status, 200);
  t.match(await people.insertOne({ code: 0 }), refusal('not_unique'));
  t.equal(
    (await people.insert([{ email: `${long}y` }, { code: 2 }, { flag: false }, { tags: [] }])).status,
    200,
  );
  t.equal(
    (await people.insert(Array.from({ length: 5 }, () => ({ other: 'same', email: null })))).status,
    200,
  );
  t.equal((await people.find([['other', 'same']])).body.length, 5, 'there may be many without a value');
});

t.test('more values than one statement takes', async (t) => {
  const people = space('many');
  const values = Array.from({ length: 10_500 }, (_, i) => ({ email: `v${i}` }));
  t.equal((await people.insert(values)).status, 200);
  t.equal((await people.insert(values.map(({ email }) => ({ email: `${email}x` })))).status, 200);
  t.match(
    await people.insert([...values.map((_, i) => ({ email: `new${i}` })), { email: 'v10499' }]),
    refusal('not_unique'),
  );
  t.equal((await people.find()).body.length, 21_000);
});

t.test('values of a failed write are free again, for those who wait as well', async (t) => {
  const people = space('failing');
  await people.find();
  faulty.fails = isRecordWrite;
  const failed = people.insertOne({ email: 'a' });
  const waiting = people.insertOne({ email: 'a' });
  await t.rejects(failed, { message: 'disk full' });
  await t.rejects(waiting, { message: 'disk full' });
  faulty.fails = () => false;
  t.equal((await people.insertOne({ email: 'a' })).status, 200);
  t.equal((await people.insertOne({ email: 'a' })).status, 400);
});

t.test('a value stays reserved while its INSERT goes on without its client', async (t) => {
  const people = space('gone');
  await people.find();
  const release = await faulty.abandon(t, harness, {
    path: '/u/gone/_single_',
    structure: structureOf('u', 'gone', users),
    body: { email: 'a' },
  });
  let settled = false;
  const second = people.insertOne({ email: 'a' }).finally(() => {
    settled = true;
  });
  // long enough for a look into the table, which does not have the value yet
  await people.find([['email', 'a']]);
  await people.find([['email', 'a']]);
  t.equal(settled, false, 'it waits for the INSERT');
  release();
  t.match(await second, refusal('not_unique'));
  t.equal((await people.find([['email', 'a']])).body.length, 1);
});

t.test('a field that becomes unique later is found by its value, and refuses it', async (t) => {
  const before = space('later', fieldsOf('a TEXT'));
  const { body } = await before.insertOne({ a: 'x' });
  const after = space('later', fieldsOf('a TEXT unique'));
  t.match(await after.insertOne({ a: 'x' }), refusal('not_unique'));
  t.strictSame((await after.findOne([['a', 'x']])).body, body);
});

const plainCode = (unique: boolean): FieldInput[] => [{ name: 'code', type: 'NUMBER', unique }];
const insertStored = (slug: string, body: object) =>
  harness.call({ path: `/u/${slug}/_single_`, headers: { 'use-pre-stored-structure': 'true' }, body });

t.test('a field becomes unique after the inserts that began when it was not', async (t) => {
  await space('late', plainCode(false)).insertOne({ code: 1 });
  const { begun, release } = faulty.hold();
  const insert = insertStored('late', { code: 1 });
  await begun;
  const change = space('late', plainCode(true)).make();
  await quiet();
  release();
  t.equal((await insert).status, 200);
  t.match(await change, refusal('structure_conflict', /'code'.*2 stored records/));
});

t.test('an insert that comes while stored values are checked for a rule obeys it', async (t) => {
  await space('meanwhile', plainCode(false)).insertOne({ code: 1 });
  let insert: ReturnType<typeof insertStored> | undefined;
  onCheck = async () => {
    insert = insertStored('meanwhile', { code: 1 });
    await quiet();
  };
  t.equal((await space('meanwhile', plainCode(true)).make()).status, 200);
  onCheck = async () => {};
  t.match(await insert, refusal('not_unique'));
});
