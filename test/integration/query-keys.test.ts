import t from 'tap';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const faulty = new FaultyDatabase();
// the way of a store that several processes write to: statements, which the tests hold up and fail
const harness = await queryHarnessFor(t, { singleWriter: false, wrap: faulty.wrap });

const settings: FieldInput[] = [
  { name: 'theme', type: 'TEXT' },
  { name: 'size', type: 'NUMBER', defaultValue: 10 },
  { name: 'flags', type: 'OBJECT' },
  { name: 'pin', type: 'TEXT', hashed: true },
];
const space = (slug: string, fields: readonly FieldInput[] = settings) =>
  spaceOf(harness, 'keys', slug, fields);

t.test('no key group, then one that keys are merged into', async (t) => {
  const keys = space('one');
  t.equal((await keys.getKeys()).text, 'null');
  const made = await keys.setKeys({ theme: 'dark', pin: '1234' });
  t.match(made.body, { theme: 'dark', size: 10, flags: null });
  t.notMatch(made.text, /pin/);
  t.strictSame((await keys.getKeys()).body, made.body);
  const merged = await keys.setKeys({ flags: { b: 1 }, size: null });
  t.match(merged.body, { id: made.body.id, theme: 'dark', size: null, flags: { b: 1 } });
  t.strictSame((await keys.getKeys()).body, merged.body);
  t.strictSame((await keys.find()).body, [merged.body]);
  t.equal(
    (
      await keys.findOne([
        ['theme', 'dark'],
        ['pin', '1234'],
      ])
    ).body.id,
    made.body.id,
  );
});

t.test('bodies that are not right', async (t) => {
  const keys = space('wrong');
  for (const body of [{}, [], '[{"theme":"x"}]', 'null', '1']) {
    t.match(await keys.setKeys(body), { status: 400, code: 'invalid_body' });
  }
  t.match(await keys.setKeys({ theme: 1, nosuch: 2 }), {
    status: 400,
    code: 'invalid_value',
    problems: [/'nosuch'/, /'theme'/],
  });
  t.equal((await keys.getKeys()).body, null);
});

t.test('required keys may come after the first call, and can not be cleared', async (t) => {
  const keys = space('required', fieldsOf('a TEXT required, b TEXT'));
  t.match(await keys.setKeys({ b: 'x' }), { status: 200, body: { a: null, b: 'x' } });
  t.match(await keys.setKeys({ a: 'x' }), { status: 200 });
  t.match(await keys.setKeys({ b: 'y' }), { status: 200, body: { a: 'x', b: 'y' } });
  t.match(await keys.setKeys({ a: null }), { status: 400, problems: [/'a'/] });
});

t.test('concurrent first calls make one record with all keys', async (t) => {
  const fields = Array.from({ length: 16 }, (_, i) => ({ name: `k${i}`, type: 'TEXT' }));
  const keys = space('race', fields);
  const answers = await Promise.all(fields.map(({ name }) => keys.setKeys({ [name]: `v-${name}` })));
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  const found = (await keys.find()).body;
  t.equal(found.length, 1);
  for (const { name } of fields) t.equal(found[0][name], `v-${name}`);
});

t.test('a first call that goes on without its client is waited for', async (t) => {
  const keys = space('gone');
  await keys.getKeys();
  const release = await faulty.abandon(t, harness, {
    path: '/keys/gone/set-key-values',
    structure: structureOf('keys', 'gone', settings),
    body: { theme: 'first' },
  });
  const second = keys.setKeys({ size: 2 });
  await keys.getKeys();
  release();
  t.match((await second).body, { theme: 'first', size: 2 });
  t.equal((await keys.find()).body.length, 1);
});

t.test('clear, and set again', async (t) => {
  const keys = space('cleared');
  const { body } = await keys.setKeys({ theme: 'a' });
  t.strictSame((await keys.clear()).body, { deleted: 1 });
  t.equal((await keys.getKeys()).body, null);
  const again = await keys.setKeys({ size: 1 });
  t.match(again.body, { theme: null, size: 1 });
  t.not(again.body.id, body.id);
});
