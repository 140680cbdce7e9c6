import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

const harness = await openQueryHarness();
t.teardown(() => harness.close());

const person: FieldInput[] = [
  { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { name: 'age', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
];

function space(slug: string, fields: readonly FieldInput[] = person, more: object = {}) {
  return spaceOf(harness, 'records', slug, structureOf('records', slug, fields, more));
}

t.test('what insert answers is what find answers', async (t) => {
  const people = space('equality');
  const bodies = [
    { fullName: 'Ada', age: 36, active: true, tags: ['a', { b: 1, a: [null] }], extra: { z: 1, a: {} } },
    { 'full-name': 'é😀\u2028\0"\\/\n', age: -0, active: false, tags: [], extra: {} },
    { fullName: '', age: 5e-324, tags: [1e21, -1e-7, 0.1, 123456789012345680000], extra: { '': '\ud800' } },
    { fullName: '\x7f\x01', age: 1.7976931348623157e308, active: null },
    { fullName: 'x', age: 9007199254740993, extra: JSON.parse('{"__proto__":{"a":1},"constructor":2}') },
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
    t.strictSame(Object.keys(record), [
      'id',
      'fullName',
      'age',
      'active',
      'tags',
      'extra',
      'createdAt',
      'updatedAt',
    ]);
  }
  const one = await people.insertOne({ fullName: 'one', extra: { b: [1, { d: 1, c: 2 }], a: 1 } });
  t.strictSame((await people.findOne([['id', one.body.id]])).text, one.text);
});
