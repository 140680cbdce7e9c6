/** Keys that the service makes of values, and those that the engine makes of what is stored: they are the same. */
import t from 'tap';
import { keyOf } from '#records/sql/record-keys.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { hostileTexts } from '../services/hostile-texts.ts';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t);

const types = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
const numbers = [
  0,
  -0,
  1,
  -1.5,
  0.1,
  1 / 3,
  1e21,
  1e-7,
  5e-324,
  1.7976931348623157e308,
  2 ** 53,
  123456789012345680,
];
/** By the name of a field; the last fields of a kind have no column. */
const values: Readonly<Record<string, readonly unknown[]>> = {
  TEXT: [...hostileTexts, '', 'é', '😀', 'x'.repeat(10_000)],
  NUMBER: numbers,
  BOOLEAN: [true, false],
  ARRAY: [[], [1, { b: 1, a: '😀' }], ['\u2028', '\\']],
  OBJECT: [{}, { b: { d: 1, c: 2 }, a: [0.1] }],
};

/** One space for each type; its first field has a column, and its last one has none. */
async function keysOf(
  type: string,
  write: 'insert' | 'update',
): Promise<{ made: string[]; expected: string[] }> {
  const slug = `${type.toLowerCase()}-${write}`;
  const fields: FieldInput[] = Array.from({ length: 26 }, (_, i) => ({ name: `f${i}`, type }));
  const space = spaceOf(harness, 'k', slug, fields);
  const records = (values[type] ?? []).map((value) => ({ f0: value, f25: value }));
  if (write === 'insert') {
    t.equal((await space.insert(records)).status, 200, type);
  } else {
    const { body } = await space.insert(records.map(() => ({ f1: (values[type] ?? [])[0] })));
    for (const [i, record] of records.entries()) {
      t.equal((await space.updateOneById(body[i].id, record)).status, 200, type);
    }
  }
  const { body } = await space.find();
  const stored = await storedSpace(harness.db, { project: 'k', slug });
  t.match(stored.slots.f25, /^m\d+$/);
  const table = new RecordsTable(harness.db, testDatabase);
  const expected: string[] = [];
  for (const name of ['f0', 'f25']) {
    const slot = stored.slots[name] as string;
    await harness.store.db.command(table.addKeys(stored.id, slot));
    for (const record of body) {
      const value = record[name];
      const key = keyOf(slot, typeof value === 'object' ? canonical(value) : value);
      expected.push(`${record.id} ${key}`);
    }
  }
  const made = (await stored.keys()).map(({ _id, key }) => `${_id} ${key}`);
  return { made: made.sort(), expected: expected.sort() };
}

/** ARRAY and OBJECT are stored as JSON text with sorted keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}

for (const type of types) {
  for (const write of ['insert', 'update'] as const) {
    t.test(`${type} by ${write}`, async (t) => {
      const { made, expected } = await keysOf(type, write);
      t.equal(made.length, 2 * (values[type]?.length ?? 0));
      t.strictSame(made, expected);
    });
  }
}

t.test('a value that is not there has no key', async (t) => {
  const space = spaceOf(harness, 'k', 'empty', fieldsOf('a TEXT, b TEXT'));
  await space.insert([{ b: 'x' }, { a: null, b: 'y' }]);
  const stored = await storedSpace(harness.db, { project: 'k', slug: 'empty' });
  await harness.store.db.command(
    new RecordsTable(harness.db, testDatabase).addKeys(stored.id, stored.slots.a as string),
  );
  t.strictSame(await stored.keys(), []);
});
