/** A space with more fields than the records table has columns: what overflows is as good, and merely slower. */
import t from 'tap';
import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t);

const textFields: FieldInput[] = Array.from({ length: 300 }, (_, i) => ({ name: `t${i}`, type: 'TEXT' }));
const numberFields: FieldInput[] = Array.from({ length: 40 }, (_, i) => ({ name: `n${i}`, type: 'NUMBER' }));
/** One of each type that has no column, because the fields before it took them. */
const flags: FieldInput[] = Array.from({ length: 10 }, (_, i) => ({ name: `b${i}`, type: 'BOOLEAN' }));
const rest: FieldInput[] = fieldsOf(
  'list ARRAY, map OBJECT, secret TEXT hashed, code TEXT unique, serial NUMBER unique',
  'only BOOLEAN unique',
);
const fields = [...textFields, ...numberFields, ...flags, ...rest];
const wide = spaceOf(harness, 'o', 'wide', fields);
const numbers = [0, -1.5, 1 / 3, 1e21, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 9007199254740991, 4.35];
const recordOf = (i: number) => ({
  t0: `first ${i}`,
  t299: `Last ${i}`,
  n0: i,
  n39: numbers[i],
  b0: i % 2 === 0,
  b9: i % 2 === 0,
  list: [i, { a: null }],
  map: { i },
  secret: `s${i}`,
  code: `c${i}`,
  serial: i / 3,
});
const list = ({ body }: { body: { n0: number }[] }): number[] => body.map(({ n0 }) => n0);
const count = numbers.length;

t.test('records are answered as they were sent', async (t) => {
  const inserted = await wide.insert(Array.from({ length: count }, (_, i) => recordOf(i)));
  t.equal(inserted.status, 200, inserted.problems.join());
  const { slots } = await storedSpace(harness.db, { project: 'o', slug: 'wide' });
  for (const name of ['t299', 'n39', 'b9', 'list', 'map', 'code', 'serial', 'only'])
    t.match(slots[name], /^m\d+$/, name);
  t.match(slots, { t0: 't0', n0: 'n0', b0: 'b0', secret: 'h0' });
  t.equal(new Set(Object.values(slots)).size, fields.length);
  const { body } = await wide.find();
  t.strictSame(body, inserted.body, 'as the engine makes text of them');
  for (const [i, record] of body.entries()) {
    const { secret, ...expected } = recordOf(i);
    t.match(record, { ...expected, t1: null, n38: null, b8: null });
    t.notOk('secret' in record);
    t.equal(record.n39, numbers[i], 'the very double');
  }
  t.strictSame((await wide.findOne([['n0', '3']])).body, body[3], 'as the service does');
});

t.test('conditions', async (t) => {
  const { body } = await wide.find();
  for (const i of [0, 4, 7]) {
    const record = body[i];
    const and: [string, string][] = [
      ['t299', record.t299],
      ['n39', String(record.n39)],
      ['b9', String(record.b9)],
      ['list', JSON.stringify(record.list)],
      ['map', JSON.stringify(record.map)],
    ];
    t.strictSame(list(await wide.find(and)), [i]);
    for (const pair of and.filter(([name]) => name !== 'b9'))
      t.strictSame(list(await wide.find([pair])), [i], pair[0]);
    t.strictSame(list(await wide.find([...and, ['secret', `s${i}`]])), [i]);
    t.strictSame(list(await wide.find([...and, ['secret', 'other']])), []);
  }
  t.strictSame(list(await wide.find([['b9', 'true']])), [0, 2, 4, 6, 8]);
  t.strictSame(list(await wide.find([['b9', 'false']])), [1, 3, 5, 7]);
  t.strictSame(
    list(
      await wide.find(
        [
          ['t299', 'Last 1'],
          ['n39', '0'],
        ],
        { paramRelationship: 'Or' },
      ),
    ),
    [0, 1],
  );
  t.strictSame(list(await wide.find([['t298', '']])), [], 'no value is no empty text');
  t.strictSame(list(await wide.find([['n38', '0']])), [], 'and no zero');
  t.strictSame(list(await wide.find([['b8', 'false']])), [], 'and not false');
});

t.test('order: by number, not by text, and what has no value comes last', async (t) => {
  const { body } = await wide.insertOne({ n0: 100 });
  const byNumber = numbers.map((_, i) => i).sort((a, b) => (numbers[a] as number) - (numbers[b] as number));
  for (const [order, expected] of [
    ['asc', [...byNumber, 100]],
    ['desc', [...byNumber.toReversed(), 100]],
  ] as const) {
    t.strictSame(list(await wide.find('', { sort: { by: 'n39', order } })), expected, order);
    const page = { sort: { by: 'n39', order }, pagination: { limit: 3, page: 2 } };
    t.strictSame(list(await wide.find('', page)), expected.slice(3, 6), 'a page');
  }
  t.strictSame(
    list(await wide.find('', { sort: { by: 't299', order: 'desc' } })),
    [8, 7, 6, 5, 4, 3, 2, 1, 0, 100],
  );
  t.strictSame(list(await wide.find('', { sort: { by: 'b9' } })), [1, 3, 5, 7, 0, 2, 4, 6, 8, 100]);
  await wide.deleteOneById(body.id);
});

t.test('search', async (t) => {
  t.strictSame(list(await wide.search('lAST 7', ['t299'])), [7]);
  t.strictSame(list(await wide.search('last', ['t299', 't1'])), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  t.strictSame(list(await wide.search('first 2', ['t299', 't0'])), [2]);
  t.strictSame(list(await wide.search('', ['t298'])), [], 'no value contains nothing');
});

t.test('updates, with null', async (t) => {
  const [{ id, updatedAt }] = (await wide.find([['n0', '0']])).body;
  const change = {
    t299: 'changed',
    n39: 7.25,
    b9: false,
    list: null,
    map: { x: [1] },
    secret: 'new',
    t1: 'columns too',
  };
  const { body } = await wide.updateOneById(id, change);
  const { secret, ...shown } = change;
  t.match(body, { ...shown, t0: 'first 0', code: 'c0' });
  t.ok(body.updatedAt > updatedAt);
  t.strictSame((await wide.find([['n39', '7.25']])).body, [body]);
  t.strictSame(list(await wide.find([['n39', '0']])), []);
  t.strictSame(
    list(
      await wide.find([
        ['t299', 'changed'],
        ['secret', 'new'],
      ]),
    ),
    [0],
  );
  t.strictSame(
    list(
      await wide.find([
        ['t299', 'changed'],
        ['secret', 's0'],
      ]),
    ),
    [],
  );
  const nulls = { t299: null, n39: null, b9: null, map: null, secret: null };
  t.match((await wide.updateOneById(id, nulls)).body, {
    t299: null,
    n39: null,
    b9: null,
    map: null,
    t1: 'columns too',
  });
  t.strictSame((await wide.find([['n0', '0']])).body[0].t299, null);
  t.strictSame(
    list(
      await wide.find([
        ['n0', '0'],
        ['secret', 'new'],
      ]),
    ),
    [],
  );
  const stored = await storedSpace(harness.db, { project: 'o', slug: 'wide' });
  const [row] = await stored.rows<{ doc: string[]; hashes: string[] }>(
    'mapKeys(_doc) AS doc, mapKeys(_hashes) AS hashes',
    `AND _id = '${id}'`,
  );
  t.notOk(row?.doc.includes(stored.slots.t299 as string), 'nothing is left of it');
  t.strictSame(row?.hashes, []);
  t.match((await wide.updateOneById(id, { n39: 1, t299: 'again' })).body, { n39: 1, t299: 'again' });
});

t.test('unique fields, found by their keys', async (t) => {
  for (const same of [{ code: 'c5' }, { serial: 5 / 3 }]) {
    t.match(await wide.insertOne(same), { status: 400, code: 'not_unique' });
    const [name, value] = Object.entries(same)[0] as [string, string | number];
    t.equal((await wide.findOne([[name, String(value)]])).body.n0, 5);
  }
  const { body } = await wide.insertOne({ only: true });
  t.match(await wide.insertOne({ only: true }), { status: 400, code: 'not_unique' });
  t.match(await wide.updateOneById(body.id, { code: 'c5' }), { status: 400, code: 'not_unique' });
  t.equal((await wide.updateOneById(body.id, { code: 'own', serial: 1e21 })).status, 200);
  t.strictSame((await wide.findOne([['serial', '1e21']])).body.id, body.id);
  t.equal((await wide.updateOneById(body.id, { code: 'other' })).status, 200);
  t.equal((await wide.findOne([['code', 'own']])).body, null);
  t.equal((await wide.insertOne({ code: 'own' })).status, 200, 'a value that was given up');
});

t.test('a field that overflows may become unique and required', async (t) => {
  const strict = (name: string, flag: string) =>
    spaceOf(
      harness,
      'o',
      'wide',
      fields.map((field) => (field.name === name ? { ...field, [flag]: true } : field)),
    );
  t.match(await strict('b9', 'unique').find(), { status: 400, problems: [/can not become unique/] });
  t.match(await strict('n39', 'required').find(), {
    status: 400,
    problems: [/can not become required: 2 stored/],
  });
  const unique = strict('n39', 'unique');
  t.equal((await unique.findOne([['n39', String(numbers[3])]])).body.n0, 3);
  t.match(await unique.insertOne({ n39: numbers[3] }), { status: 400, code: 'not_unique' });
});

t.test('fields that come later overflow, and those before them stay', async (t) => {
  const { count: columns } = slotColumns.n;
  const few = Array.from({ length: columns }, (_, i) => ({ name: `n${i}`, type: 'NUMBER' }));
  const before = spaceOf(harness, 'o', 'grown', few);
  await before.insertOne({ n0: 1 });
  const more = [{ name: 'late', type: 'NUMBER' }, ...few.slice(1)];
  const after = spaceOf(harness, 'o', 'grown', more);
  t.match((await after.insertOne({ late: 2, n1: 3 })).body, { late: 2, n1: 3 });
  t.match((await after.find([['late', '2']])).body, [{ n1: 3 }]);
  t.match((await before.find()).body, [{ n0: 1 }, { n0: null, n1: 3 }]);
  const { slots } = await storedSpace(harness.db, { project: 'o', slug: 'grown' });
  t.match(slots, { n0: 'n0', late: 'm0' });
});
