import t from 'tap';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, personFields, structureOf } from '../services/record-client.ts';

const faulty = new FaultyDatabase();
// the way of a store that several processes write to: statements, which the tests hold up and fail
const harness = await queryHarnessFor(t, {
  singleWriter: false,
  wrap: faulty.wrap,
});

const users: FieldInput[] = fieldsOf(
  'email TEXT unique, code NUMBER unique, password TEXT hashed, note TEXT',
);
const space = (slug: string, fields: readonly FieldInput[] = personFields) =>
  spaceOf(harness, 'up', slug, fields);
const count = (answers: readonly { status: number }[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

const full = { fullName: 'Ada', age: 36, active: true, tags: ['a'], extra: { b: 1 } };

t.test('only the named fields change, and updatedAt moves', async (t) => {
  const people = space('people');
  const [ada, other] = (await people.insert([full, { ...full, fullName: 'Grace' }])).body;
  const changed = await people.updateOneById(ada.id, { age: 37, 'full-name': 'Ada L.' });
  t.equal(changed.status, 200, changed.problems.join());
  const { updatedAt, ...rest } = changed.body;
  t.strictSame(rest, { ...full, id: ada.id, fullName: 'Ada L.', age: 37, createdAt: ada.createdAt });
  t.ok(updatedAt > ada.updatedAt, `${updatedAt} after ${ada.updatedAt}`);
  t.strictSame((await people.findOne([['id', ada.id]])).body, changed.body);
  t.strictSame((await people.find([['age', '37']])).body, [changed.body]);
  t.strictSame((await people.find([['age', '36']])).body, [other]);
  t.strictSame((await people.find()).body, [changed.body, other], 'the order stays');
  const byCondition = await people.updateOne([['fullName', 'Grace']], { active: false });
  t.match(byCondition.body, { id: other.id, fullName: 'Grace', age: 36, active: false });
  t.strictSame((await people.find([['active', 'false']])).body, [byCondition.body]);
});

t.test('every type is set, and null clears', async (t) => {
  const people = space('types');
  const { body } = await people.insertOne({ fullName: 'x' });
  t.match((await people.updateOneById(body.id, full)).body, full);
  const { fullName: _, ...optional } = full;
  const none = Object.fromEntries(Object.keys(optional).map((key) => [key, null]));
  t.match((await people.updateOneById(body.id, none)).body, { fullName: 'Ada', ...none });
  const sorted = await people.updateOneById(body.id, { extra: { z: 1, a: [null, 'ü'] }, tags: [] });
  t.match(sorted.text, /"extra":\{"a":\[null,"ü"\],"z":1\}/, 'as insert does it');
  t.match((await people.findOne([['id', body.id]])).text, /"extra":\{"a":\[null,"ü"\],"z":1\}/);
});

t.test('bodies that are not right change nothing', async (t) => {
  const people = space('wrong');
  const { body: stored } = await people.insertOne(full);
  const refused = async (body: unknown, code: string, problems: RegExp[]): Promise<void> => {
    for (const answer of [
      await people.updateOneById(stored.id, body),
      await people.updateOne([['age', '36']], body),
    ]) {
      t.match(answer, { status: 400, code }, JSON.stringify(body));
      for (const problem of problems)
        t.ok(
          answer.problems.some((text) => problem.test(text)),
          `${problem}`,
        );
    }
  };
  await refused({}, 'invalid_body', []);
  await refused('[]', 'invalid_body', []);
  await refused('null', 'invalid_body', []);
  await refused({ nosuch: 1, age: 'x', fullName: null }, 'invalid_value', [
    /nosuch/,
    /'age'.*number/,
    /'fullName'/,
  ]);
  await refused({ id: 'x' }, 'invalid_value', [/'id'/]);
  await refused({ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: null }, 'invalid_value', [
    /createdAt/,
    /updatedAt/,
  ]);
  await refused({ fullName: 'x', 'full-name': 'y' }, 'invalid_value', [/twice/]);
  t.equal((await people.updateOneById(stored.id, { fullName: 'x'.repeat(1024 ** 2) })).status, 413);
  t.strictSame((await people.find()).body, [stored]);
});

t.test('none matches', async (t) => {
  const people = space('none');
  await people.insertOne(full);
  t.match(await people.updateOneById('nosuch', { age: 1 }), refusal('no_match'));
  t.match(await people.updateOne([['age', '99']], { age: 1 }), refusal('no_match'));
  t.match(await people.updateOne('age=x', { age: 1 }), refusal('invalid_condition'));
  t.match(await people.deleteOneById("' OR 1=1 --"), refusal('no_match'));
  const path = '/up/none/update-by-id';
  const structure = structureOf('up', 'none', personFields);
  for (const [query, problem] of [
    ['', /'id' is missing/],
    ['id=a&id=b', /2 times/],
    ['id=a&age=1', /'age' is not known here/],
    ['age=36', /'age' is not known here/],
  ] as const) {
    const refused = { status: 400, code: 'invalid_condition', problems: { 0: problem } };
    const call = { path, structure, query, body: { age: 1 } };
    t.match(await harness.call(call), refused, query);
    t.match(await harness.call({ method: 'DELETE', path: '/up/none', structure, query }), refused, query);
  }
  t.match((await people.find()).body, [full]);
});

t.test('updateOne changes what findOne finds: order, page and Or', async (t) => {
  const people = space('chosen');
  await people.insert([1, 2, 3, 4].map((age) => ({ fullName: `n${age}`, age, tags: ['x'] })));
  const changed = async (...args: Parameters<typeof people.updateOne>): Promise<string> =>
    (await people.updateOne(...args)).body.fullName;
  t.equal(await changed('tags=["x"]', { active: true }), 'n1');
  t.equal(await changed('tags=["x"]', { active: true }, { sort: { by: 'age', order: 'desc' } }), 'n4');
  t.equal(await changed('tags=["x"]', { active: true }, { pagination: { limit: 1, page: 3 } }), 'n3');
  const either = [
    ['age', '9'],
    ['fullName', 'n2'],
  ] as const;
  t.equal(await changed(either, { active: true }, { paramRelationship: 'Or' }), 'n2');
  t.equal((await people.find([['active', 'true']])).body.length, 4);
});

t.test('updatedAt grows with every change of a record', async (t) => {
  const people = space('times');
  const { body } = await people.insertOne(full);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, age) => people.updateOneById(body.id, { age })),
  );
  const times = [body, ...answers.map((answer) => answer.body)].map((record) => record.updatedAt);
  t.equal(new Set(times).size, 21);
  t.strictSame(times.toSorted(), times, 'in the order in which they were asked for');
  t.match((await people.findOne()).body, answers[19]?.body);
});

t.test('concurrent updates of different fields of a record survive, in two processes too', async (t) => {
  const fields = Array.from({ length: 12 }, (_, i) => ({ name: `f${i}`, type: 'TEXT' }));
  const wide = space('wide', fields);
  const second = spaceOf({ ...harness, call: harness.another().call }, 'up', 'wide', fields);
  const { body } = await wide.insertOne({ f0: 'old' });
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      fields.map(({ name }, i) =>
        (i % 2 === 0 ? wide : second).updateOneById(body.id, { [name]: `v${round}` }),
      ),
    );
    t.equal(count(answers, 200), 12);
    const found = (await wide.findOne()).body;
    t.strictSame(
      fields.map(({ name }) => found[name]),
      fields.map(() => `v${round}`),
    );
  }
});

t.test('updates of many records at once share statements, and each gets its own values', async (t) => {
  const people = space('many');
  const { body } = await people.insert(
    Array.from({ length: 100 }, (_, age) => ({ fullName: `n${age}`, age })),
  );
  faulty.asked.length = 0;
  const answers = await Promise.all(
    body.map(({ id }: { id: string }, i: number) =>
      people.updateOneById(id, i % 2 === 0 ? { age: 1000 + i } : { age: 1000 + i, tags: [i] }),
    ),
  );
  t.equal(count(answers, 200), 100);
  const changes = faulty.asked.filter(({ verb }) => verb === 'UPDATE' || verb === 'DELETE');
  t.ok(changes.length < 20, `${changes.length} statements`);
  const found = (await people.find()).body;
  for (const [i, record] of found.entries()) {
    t.equal(record.age, 1000 + i);
    t.strictSame(record.tags, i % 2 === 0 ? null : [i]);
    t.strictSame(record, answers[i].body);
  }
});

t.test('each of many takers gets a record of its own', async (t) => {
  const jobs = space('jobs', fieldsOf('state TEXT, taker NUMBER'));
  await jobs.insert(Array.from({ length: 15 }, () => ({ state: 'waiting' })));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, taker) =>
      jobs.updateOne([['state', 'waiting']], { state: 'taken', taker }),
    ),
  );
  t.equal(count(answers, 200), 15);
  t.equal(answers.filter(({ code }) => code === 'no_match').length, 5);
  t.equal(new Set(answers.flatMap(({ body }) => (body === null ? [] : [body.id]))).size, 15);
  t.equal((await jobs.find([['state', 'waiting']])).body.length, 0);
});

t.test('unique fields stay unique', async (t) => {
  const people = space('unique', users);
  const [a, b] = (await people.insert([{ email: 'a', code: 1 }, { email: 'b' }])).body;
  t.match(await people.updateOneById(b.id, { email: 'a' }), refusal('not_unique', /'email'/));
  t.match(await people.updateOneById(b.id, { email: 'a', code: 1 }), {
    status: 400,
    problems: [/'email'/, /'code'/],
  });
  t.match(await people.updateOneById(a.id, { email: 'a', note: 'same' }), { status: 200 });
  t.match(await people.updateOne([['email', 'a']], { email: 'c', code: null }), { status: 200 });
  t.match(
    await people.updateOneById(b.id, { email: 'a', code: 1 }),
    { status: 200 },
    'what was given up is free',
  );
  t.match(await people.insertOne({ email: 'c' }), refusal('not_unique'));
  t.match(await people.insertOne({ email: 'b' }), { status: 200 });
  t.equal((await people.find([['email', 'c']])).body[0].id, a.id);
  t.equal((await people.deleteOneById(a.id)).status, 200);
  t.match(await people.insertOne({ email: 'c' }), { status: 200 }, 'what was deleted is free');
});

t.test('of concurrent inserts and updates to one value exactly one is made', async (t) => {
  const people = space('race', users);
  const { body } = await people.insert(Array.from({ length: 10 }, (_, i) => ({ email: `e${i}` })));
  const answers = await Promise.all([
    ...body.map(({ id }: { id: string }) => people.updateOneById(id, { email: 'x' })),
    ...Array.from({ length: 10 }, () => people.insertOne({ email: 'x' })),
  ]);
  t.equal(count(answers, 200), 1);
  t.equal(answers.filter(({ code }) => code === 'not_unique').length, 19);
  t.equal((await people.find([['email', 'x']])).body.length, 1);
});

t.test('a record keeps its own value while others fail to take it', async (t) => {
  const people = space('own', users);
  const { body } = await people.insertOne({ email: 'mine' });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0
        ? people.insertOne({ email: 'mine' })
        : people.updateOneById(body.id, { email: 'mine', note: `n${i}` }),
    ),
  );
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map((_, i) => (i % 2 === 0 ? 400 : 200)),
  );
});

t.test('hashed fields are hashed anew, and conditions on them count', async (t) => {
  const people = space('hashed', users);
  const { body } = await people.insertOne({ email: 'a', password: 'old' });
  t.match(
    await people.updateOne(
      [
        ['email', 'a'],
        ['password', 'wrong'],
      ],
      { note: 'x' },
    ),
    refusal('no_match'),
  );
  const changed = await people.updateOne(
    [
      ['email', 'a'],
      ['password', 'old'],
    ],
    { password: 'new' },
  );
  t.equal(changed.status, 200);
  t.notMatch(changed.text, /password|argon2/);
  t.equal(
    (
      await people.findOne([
        ['email', 'a'],
        ['password', 'old'],
      ])
    ).body,
    null,
  );
  t.equal(
    (
      await people.findOne([
        ['email', 'a'],
        ['password', 'new'],
      ])
    ).body.id,
    body.id,
  );
  t.match(await people.updateOne([['password', 'new']], { note: 'x' }), refusal('invalid_condition'));
  t.match(await people.updateOneById(body.id, { password: null }), { status: 200 });
  t.equal(
    (
      await people.findOne([
        ['email', 'a'],
        ['password', 'new'],
      ])
    ).body,
    null,
  );
});

t.test('deleteOneById answers the record, once', async (t) => {
  const people = space('deletes');
  const { body } = await people.insert(
    Array.from({ length: 10 }, (_, age) => ({ fullName: `n${age}`, age })),
  );
  const id = body[3].id;
  const answers = await Promise.all(Array.from({ length: 10 }, () => people.deleteOneById(id)));
  t.equal(count(answers, 200), 1);
  t.equal(answers.filter(({ code }) => code === 'no_match').length, 9);
  t.strictSame(answers.find(({ status }) => status === 200)?.body, body[3]);
  t.equal((await people.find()).body.length, 9);
  t.match(await people.updateOneById(id, { age: 1 }), refusal('no_match'));
  const all = await Promise.all(
    body.map(({ id }: { id: string }) =>
      Promise.all([people.deleteOneById(id), people.updateOneById(id, { age: -1 })]),
    ),
  );
  t.equal(all.filter(([removed]) => removed.status === 200).length, 9);
  t.strictSame((await people.find()).body, []);
});

t.test('clear deletes all records of its space, and a restart brings none back', async (t) => {
  const people = space('cleared');
  const other = space('kept');
  await other.insertOne(full);
  const { body } = await people.insert(Array.from({ length: 50 }, (_, age) => ({ fullName: 'x', age })));
  await Promise.all(body.map(({ id }: { id: string }) => people.updateOneById(id, { age: -1 })));
  t.strictSame((await people.clear()).body, { deleted: 50 });
  t.strictSame((await people.find()).body, []);
  t.strictSame((await people.clear()).body, { deleted: 0 });
  t.match(await people.updateOneById(body[0].id, { age: 1 }), refusal('no_match'));
  await harness.restart();
  t.strictSame((await people.find()).body, []);
  // old changes must not find new records in the places of old ones
  const again = await people.insert(Array.from({ length: 50 }, (_, age) => ({ fullName: 'y', age })));
  t.strictSame((await people.find()).body, again.body);
  await harness.restart();
  t.strictSame((await people.find()).body, again.body);
  t.equal((await other.find()).body.length, 1);
});

t.test('clear-miscounts: what is stored beside a clear is counted by it or there after it', async (t) => {
  const people = space('counted');
  for (let round = 0; round < 20; round++) {
    const [kept, removed] = (await people.insert([full, full])).body;
    const [cleared, gone, ...stored] = await Promise.all([
      people.clear(),
      people.deleteOneById(removed.id),
      people.updateOneById(kept.id, { age: 1 }),
      people.insertOne(full),
      people.insertOne(full),
      people.insertOne(full),
    ]);
    const left = (await people.find()).body.length;
    const inserted = 2 + count(stored.slice(1), 200);
    t.equal(cleared.body.deleted + count([gone], 200) + left, inserted, `round ${round}`);
    await people.clear();
  }
});

t.test('changes are there after a restart', async (t) => {
  const people = space('restart');
  const { body } = await people.insert(
    Array.from({ length: 20 }, (_, age) => ({ fullName: `n${age}`, age })),
  );
  const changed = await people.updateOneById(body[1].id, { age: 99, extra: { a: "it's \\ \0" } });
  await people.deleteOneById(body[2].id);
  await harness.restart();
  const found = (await people.find()).body;
  t.equal(found.length, 19);
  t.strictSame(found[1], changed.body);
});

t.test('a change that fails is answered with its error, and the others are made', async (t) => {
  const people = space('failing');
  const { body } = await people.insert(Array.from({ length: 8 }, (_, age) => ({ fullName: `n${age}`, age })));
  faulty.fails = ({ verb, sql }) => verb === 'UPDATE' && sql.includes(body[3].id);
  const outcomes = await Promise.allSettled(
    body.map(({ id }: { id: string }, i: number) =>
      people.updateOneById(id, { age: i === 3 ? 5000 : 100 + i }),
    ),
  );
  faulty.fails = () => false;
  t.strictSame(
    outcomes.map(({ status }) => status),
    body.map((_: unknown, i: number) => (i === 3 ? 'rejected' : 'fulfilled')),
  );
  t.strictSame(
    (await people.find()).body.map(({ age }: { age: number }) => age),
    [100, 101, 102, 3, 104, 105, 106, 107],
  );
  t.equal((await people.updateOneById(body[3].id, { age: 5000 })).status, 200, 'the record is free again');
});

t.test('a change goes on without its client, and its record and values are kept meanwhile', async (t) => {
  const people = space('gone', users);
  const { body } = await people.insertOne({ email: 'a' });
  const release = await faulty.abandon(t, harness, {
    path: '/up/gone/update-by-id',
    structure: structureOf('up', 'gone', users),
    query: [['id', body.id]],
    body: { email: 'b', note: 'first' },
  });
  const settled: string[] = [];
  const insert = people.insertOne({ email: 'b' }).finally(() => settled.push('insert'));
  const update = people.updateOneById(body.id, { note: 'second' }).finally(() => settled.push('update'));
  await people.find();
  await people.find();
  t.strictSame(settled, [], 'both wait for the outcome');
  release();
  t.match(await insert, refusal('not_unique'));
  t.match((await update).body, { email: 'b', note: 'second' });
});

t.test('an updated unique field is found by its key, before the table is merged and after', async (t) => {
  const people = space('folded', users);
  const { body } = await people.insert(Array.from({ length: 300 }, (_, i) => ({ email: `e${i}` })));
  for (const i of [1, 2, 3]) await people.updateOneById(body[i].id, { email: `new${i}` });
  t.equal((await people.updateOneById(body[3].id, { email: 'e2' })).status, 200, 'a value that was given up');
  const check = async (): Promise<void> => {
    t.match((await people.find([['email', 'new2']])).body, [{ id: body[2].id }]);
    t.match((await people.find([['email', 'e2']])).body, [{ id: body[3].id }]);
    for (const email of ['e1', 'e3', 'new3']) t.strictSame((await people.find([['email', email]])).body, []);
    for (const email of ['new1', 'new2', 'e2', 'e299']) {
      t.match(await people.insertOne({ email }), refusal('not_unique'));
    }
  };
  await check();
  await harness.db.command({ sql: 'OPTIMIZE TABLE sluice.records FINAL' });
  await check();
});

t.test('mutation-loses-update: nothing that the service ran is a mutation', async (t) => {
  // https://github.com/ClickHouse/ClickHouse/issues/116686
  const commands = faulty.asked.filter(({ verb, insert }) => verb !== 'SELECT' && insert === undefined);
  t.ok(commands.length > 100, `${commands.length} commands`);
  for (const { sql } of commands) {
    t.notMatch(sql, /^\s*ALTER\s+TABLE.*\b(UPDATE|DELETE|MATERIALIZE|APPLY|DROP|MODIFY|CLEAR)\b/is);
    if (/^\s*DELETE/i.test(sql)) t.match(sql, /lightweight_delete_mode = 'lightweight_update_force'$/);
  }
});
