import t from 'tap';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, personFields, structureOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t);

function space(slug: string, fields: readonly FieldInput[] = personFields, more: object = {}) {
  return spaceOf(harness, 'records', slug, fields, more);
}

t.test('what insert answers is what find answers', async (t) => {
  const people = space('equality');
  const bodies = [
    { fullName: 'Ada', age: 36, active: true, tags: ['a', { b: 1, a: [null] }], extra: { z: 1, a: {} } },
    { 'full-name': 'é😀\u2028\0"\\/\n', age: -0, active: false, tags: [], extra: {} },
    { fullName: '', age: 5e-324, tags: [1e21, -1e-7, 0.1, 123456789012345680000], extra: { '': '\ud800' } },
    { fullName: '\x7f\x01', age: 1.7976931348623157e308, active: null },
    { fullName: 'x', age: 2 ** 53, extra: JSON.parse('{"__proto__":{"a":1},"constructor":2}') },
  ];
  const { status, body, text } = await people.insert(bodies);
  t.equal(status, 200);
  t.equal(body.length, bodies.length);
  t.match(body[1], { fullName: 'é😀\u2028\0"\\/\n', age: 0, active: false, tags: [], extra: {} });
  t.equal(body[2].age, 5e-324);
  t.strictSame(body[2].tags, [1e21, -1e-7, 0.1, 123456789012345680000]);
  t.strictSame((await people.find()).body, body);
  t.match(text, '{"__proto__":{"a":1},"constructor":2}');
  for (const record of body) {
    t.strictSame((await people.findOne([['id', record.id]])).body, record);
    t.strictSame(new Date(record.createdAt).toISOString(), record.createdAt);
    t.strictSame(Object.keys(record), 'id fullName age active tags extra createdAt updatedAt'.split(' '));
  }
  const one = await people.insertOne({ fullName: 'one', extra: { b: [1, { d: 1, c: 2 }], a: 1 } });
  t.strictSame((await people.findOne([['id', one.body.id]])).text, one.text);
});

t.test('conditions of every type match what is equal and nothing else', async (t) => {
  const people = space('typed');
  await people.insert([
    { fullName: 'a', age: 0.1, active: true, tags: [1], extra: { a: 1, b: 2 } },
    { fullName: 'b', age: 0.2, active: false, tags: ['1'], extra: { a: '1' } },
    { fullName: 'c' },
    { fullName: 'A', age: 0.30000000000000004, tags: [], extra: {} },
    { fullName: 'a ', age: -1e300, tags: [[]], extra: { a: null } },
    { fullName: 'null', age: 9007199254740992, tags: [null], extra: { '': [] } },
  ]);
  const names = async (...pairs: [string, string][]): Promise<string[]> =>
    (await people.find(pairs)).body.map(({ fullName }: { fullName: string }) => fullName);
  t.strictSame(await names(['fullName', 'a']), ['a']);
  t.strictSame(await names(['full-name', 'a ']), ['a ']);
  t.strictSame(await names(['fullName', 'null']), ['null']);
  t.strictSame(await names(['age', '0.1']), ['a']);
  t.strictSame(await names(['age', '1e-1']), ['a']);
  t.strictSame(await names(['age', '0.3']), []);
  t.strictSame(await names(['age', '0.30000000000000004']), ['A']);
  t.strictSame(await names(['age', '9007199254740992']), ['null']);
  const rounded = await people.find([['age', '9007199254740993']]);
  t.equal(rounded.code, 'invalid_condition', 'a double would round it');
  t.strictSame(await names(['age', '0']), [], 'no value is not zero');
  t.strictSame(await names(['active', 'false']), ['b'], 'no value is not false');
  t.strictSame(await names(['active', 'true']), ['a']);
  t.strictSame(await names(['tags', '[1.0]']), ['a']);
  t.strictSame(await names(['tags', '["1"]']), ['b']);
  t.strictSame(await names(['tags', '[]']), ['A']);
  t.strictSame(await names(['tags', '[null]']), ['null']);
  t.strictSame(await names(['extra', '{"b":2,"a":1}']), ['a']);
  t.strictSame(await names(['extra', '{}']), ['A']);
  t.strictSame(await names(['extra', '{"a":null}']), ['a ']);
  t.strictSame(await names(['fullName', 'a'], ['age', '0.1'], ['active', 'true']), ['a']);
  t.strictSame(await names(['fullName', 'a'], ['age', '0.2']), []);
  const or = await people.find(
    [
      ['fullName', 'a'],
      ['age', '0.2'],
      ['tags', '[]'],
    ],
    { paramRelationship: 'Or' },
  );
  t.strictSame(
    or.body.map(({ fullName }: { fullName: string }) => fullName),
    ['a', 'b', 'A'],
  );
  const [first] = (await people.find()).body;
  t.equal((await people.find([['createdAt', first.createdAt]])).body.length, 6);
  t.equal((await people.find([['createdAt', '2020-01-01T00:00:00.000Z']])).body.length, 0);
});

const hostile = [
  ...["'; DROP TABLE x; --", "' OR 1=1 --", '\\', "\\'", '\\n', '%', '_', '`', '``', '"', '{x:String}'],
  ...['$x', '$1', '?', 'NULL', ')', '/*', '--', '#', '\u2028', '\u{1F600}', 'é', 'e\u0301', ' x'],
];

t.test('hostile texts as values', async (t) => {
  const texts = [
    ...hostile,
    ...['a\0b', '\0', '\x01\x7f', '\t', '\n', '\r\n', '', '\uFFFD', '\uFEFF', '[1', '},\n,'],
  ];
  const people = space('hostile-values', fieldsOf('text TEXT, list ARRAY, map OBJECT, index NUMBER'));
  const stored = await people.insert(
    texts.map((text, index) => ({ text, list: [text], map: { [text]: text }, index })),
  );
  t.equal(stored.status, 200);
  t.strictSame((await people.find()).body, stored.body);
  for (const [index, text] of texts.entries()) {
    for (const pair of [
      ['text', text],
      ['list', JSON.stringify([text])],
      ['map', JSON.stringify({ [text]: text })],
    ] as [string, string][]) {
      const { body } = await people.find([pair]);
      t.strictSame(body, [stored.body[index]], `${pair[0]} ${index}`);
    }
  }
  const order = [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const sorted = await people.find('', { sort: { by: 'text', order: 'asc' } });
  t.strictSame(
    sorted.body.map(({ text }: { text: string }) => text),
    order,
  );
});

t.test('hostile texts as names of fields', async (t) => {
  const names = [
    ...hostile,
    ...'__proto__ constructor toString hasOwnProperty _id _record count table'.split(' '),
  ];
  const odd = space(
    'hostile-names',
    names.map((name, i) => ({ name, slug: `f${i}`, type: 'TEXT' })),
  );
  const record = JSON.parse(`{${names.map((name, i) => `${JSON.stringify(name)}:"v${i}"`).join()}}`);
  const stored = await odd.insertOne(record);
  t.equal(stored.status, 200, stored.problems.join());
  t.strictSame(Object.keys(stored.body), ['id', ...names, 'createdAt', 'updatedAt']);
  for (const [i, name] of names.entries()) {
    t.strictSame((await odd.find([[name, `v${i}`]], { sort: { by: name, order: 'desc' } })).body, [
      stored.body,
    ]);
    t.strictSame((await odd.find([[name, 'other']])).body, []);
  }
});

t.test('slugs that mean something in SQL', async (t) => {
  const slugs = 'table select NULL true -name -- count id- Id ID 1 a-b x_ toString'.split(' ');
  const odd = space(
    'sql-slugs',
    slugs.map((slug, i) => ({ name: `n${i}`, slug, type: i % 2 === 0 ? 'TEXT' : 'NUMBER', unique: i < 6 })),
  );
  const stored = await odd.insertOne(
    Object.fromEntries(slugs.map((slug, i) => [slug, i % 2 === 0 ? 'v' : i])),
  );
  t.equal(stored.status, 200, stored.problems.join());
  for (const [i, slug] of slugs.entries()) {
    const { body } = await odd.find([[slug, i % 2 === 0 ? 'v' : String(i)]], { sort: { by: slug } });
    t.strictSame(body, [stored.body], slug);
  }
});

t.test('order and pages', async (t) => {
  const people = space('order');
  const bodies = [3, null, 1, 2, 1].map((age, i) => ({
    fullName: `n${i}`,
    age,
    tags: age === null ? null : [age],
  }));
  await people.insert(bodies);
  const names = async (options: object): Promise<string> =>
    (await people.find('', options)).body
      .map(({ fullName }: { fullName: string }) => fullName.slice(1))
      .join('');
  t.equal(await names({}), '01234', 'as inserted');
  t.equal(await names({ sort: { by: 'age', order: 'asc' } }), '24301', 'ties as inserted, none last');
  t.equal(await names({ sort: { by: 'age', order: 'desc' } }), '03241');
  t.equal(await names({ sort: { by: 'tags', order: 'asc' } }), '24301');
  t.equal(await names({ sort: { by: 'id', order: 'desc' } }), '43210');
  t.equal(await names({ sort: { by: 'createdAt', order: 'asc' } }), '01234');
  t.equal(await names({ sort: { by: 'createdAt', order: 'desc' } }), '43210', 'the newest first');
  t.equal(await names({ sort: { by: 'updatedAt', order: 'desc' }, pagination: { limit: 2, page: 2 } }), '21');
  t.equal(await names({ pagination: { limit: 2, page: 3 } }), '4');
  t.equal(await names({ pagination: { limit: 2, page: 4 } }), '');
  t.equal(await names({ pagination: { limit: 2 ** 53 - 1, page: 1 } }), '01234');
  t.equal(await names({ pagination: { limit: 1, page: 2 ** 53 - 1 } }), '');
  t.equal(await names({ sort: { by: 'age' }, pagination: { limit: 2 ** 52, page: 1 } }), '24301');
  t.match((await people.findOne('', { sort: { by: 'age', order: 'desc' } })).body, { fullName: 'n0' });
  t.match((await people.findOne('', { pagination: { limit: 2, page: 2 } })).body, { fullName: 'n2' });
  t.equal((await people.findOne([['fullName', 'nobody']])).text, 'null');
  t.equal((await people.find([['fullName', 'nobody']])).text, '[]');
});

t.test('defaults of every type, and what is required', async (t) => {
  const fields = [
    { name: 'text', type: 'TEXT', defaultValue: "it's" },
    { name: 'number', type: 'NUMBER', required: true, defaultValue: 0 },
    { name: 'flag', type: 'BOOLEAN', defaultValue: false },
    { name: 'list', type: 'ARRAY', defaultValue: [{ b: 1, a: 2 }] },
    { name: 'map', type: 'OBJECT', defaultValue: {} },
    { name: 'must', type: 'TEXT', required: true },
  ];
  const withDefaults = space('defaults', fields);
  const stored = await withDefaults.insertOne({ must: 'x', flag: null });
  const expected = { text: "it's", number: 0, flag: false, list: [{ a: 2, b: 1 }], map: {}, must: 'x' };
  t.match(stored.body, expected);
  t.strictSame((await withDefaults.find([['flag', 'false']])).body, [stored.body]);
  t.match(await withDefaults.insertOne({ text: 'x' }), refusal('invalid_value', /'must'/));
  t.match(await withDefaults.insert([{ must: 'y' }, { must: 1 }]), {
    status: 400,
    problems: [/'must'.*index 1/],
  });
  t.equal((await withDefaults.find()).body.length, 1, 'nothing of a refused request is stored');
});

t.test('hashed fields', async (t) => {
  const accounts = space('accounts', [
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
    { name: 'pin', type: 'NUMBER', hashed: true, defaultValue: 1 },
  ]);
  const { body } = await accounts.insert([
    { email: 'a', password: 'p1' },
    { email: 'b', password: 'p1', pin: 2 },
    { email: 'none' },
    ...Array.from({ length: 10 }, () => ({ email: 'many' })),
  ]);
  t.strictSame(Object.keys(body[0]), ['id', 'email', 'createdAt', 'updatedAt']);
  const emails = async (...pairs: [string, string][]): Promise<string[]> =>
    (await accounts.find(pairs)).body.map(({ email }: { email: string }) => email);
  t.strictSame(await emails(['email', 'a'], ['password', 'p1']), ['a']);
  t.strictSame(await emails(['email', 'a'], ['password', 'p2']), []);
  t.strictSame(await emails(['email', 'a'], ['password', 'p1'], ['pin', '1.0']), ['a']);
  t.strictSame(await emails(['email', 'a'], ['password', 'p1'], ['pin', '2']), []);
  t.strictSame(await emails(['email', 'none'], ['password', '']), [], 'no value matches nothing');
  t.strictSame(
    (
      await accounts.findOne([
        ['id', body[1].id],
        ['password', 'p1'],
      ])
    ).body,
    body[1],
  );
  t.equal(
    (
      await accounts.findOne([
        ['email', 'b'],
        ['password', 'x'],
      ])
    ).body,
    null,
  );
  t.equal(
    (
      await accounts.find([
        ['email', 'many'],
        ['pin', '1'],
      ])
    ).body.length,
    10,
  );
  t.strictSame(
    (
      await accounts.find(
        [
          ['email', 'many'],
          ['pin', '1'],
        ],
        { pagination: { limit: 3, page: 2 } },
      )
    ).body,
    body.slice(6, 9),
  );
  await accounts.insertOne({ email: 'many' });
  t.match(
    await accounts.find([
      ['email', 'many'],
      ['pin', '1'],
    ]),
    refusal('invalid_condition', /'pin'.*more than 10/),
  );
  t.match(await accounts.find([['password', 'p1']]), { status: 400, problems: [/'password'/] });
  const stored = await storedSpace(harness.db, { project: 'records', slug: 'accounts' });
  const ofA = `AND ${stored.column('email')} = 'a'`;
  const [row] = await stored.rows<{ password: string }>(`${stored.column('password')} AS password`, ofA);
  t.match(row?.password, /^\$argon2id\$v=19\$/);
  // hashes lie apart from what is answered
  t.notMatch(JSON.stringify(await stored.rows('* EXCEPT _hashes')), /argon2/);
  t.notMatch((await accounts.find()).text, /argon2|password|pin/);
});

t.test('500 fields', async (t) => {
  const wide = space(
    'wide',
    Array.from({ length: 500 }, (_, i) => ({
      name: `n${i}`,
      type: ['TEXT', 'NUMBER', 'OBJECT'][i % 3] as string,
    })),
  );
  const stored = await wide.insertOne({ n0: 'a', n1: 1, n497: {}, n499: 5 });
  t.equal(stored.status, 200, stored.problems.join());
  t.strictSame((await wide.find([['n499', '5']])).body, [stored.body]);
});

t.test('bodies: limits, bad JSON, bad UTF-8', async (t) => {
  const people = space('bodies');
  t.match(await people.insertOne({ fullName: 'x'.repeat(1024 ** 2) }), {
    status: 413,
    code: 'payload_too_large',
  });
  const record = { fullName: 'x'.repeat(1024 ** 2) };
  t.equal((await people.insert([record])).status, 200);
  t.match(await people.insert(Array(17).fill(record)), { status: 413, code: 'payload_too_large' });
  t.match(await people.insert('{'), refusal('invalid_body'));
  t.match(await people.insert(''), refusal('invalid_body'));
  t.match(await people.insertOne('['.repeat(500_000)), refusal('invalid_body'));
  const deep = `{"fullName":"x","tags":${'['.repeat(90_000)}${']'.repeat(90_000)}}`;
  t.match(await people.insertOne(deep), { status: 400, problems: [/'tags'.*100 levels/] });
});

t.test('an insert whose client has gone is seen through, and the next goes on', async (t) => {
  const people = space('gone');
  await people.insertOne({ fullName: 'first' });
  const gone = new AbortController();
  const call = harness.call({
    path: '/records/gone',
    structure: structureOf('records', 'gone', personFields),
    body: [{ fullName: 'second' }],
    signal: gone.signal,
  });
  gone.abort(new Error('client gone'));
  await t.rejects(call, { message: 'client gone' });
  t.equal((await people.insertOne({ fullName: 'third' })).status, 200);
  const names = (await people.find()).body.map(({ fullName }: { fullName: string }) => fullName);
  t.strictSame(
    names.filter((name: string) => name !== 'second'),
    ['first', 'third'],
  );
});
