/** Filters as SQL and in memory find the same records: random trees over random records of all types. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { openChdb } from '#engine/open-chdb.ts';
import type { Comparison, Filter } from '#records/input/filters/filter.ts';
import { kindOfValue } from '#records/input/filters/filter.ts';
import { filterTest } from '#records/input/filters/filter-test.ts';
import { type OperatorName, operatorOf, operatorsFor } from '#records/input/filters/operators.ts';
import { filterSql } from '#records/sql/filter-sql.ts';
import type { Field, Target } from '#records/structure/field.ts';
import { canonicalJson } from '#records/types/canonical-json.ts';
import { wholeText } from '#records/types/column-text.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import { typeEntry } from '#records/types/field-types.ts';
import { fieldsOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';
import { seed, sized } from '../services/test-size.ts';

const root = await mkdtemp(join(tmpdir(), 'sluice-filters-'));
// in the suite `served` the SQL is a server's
const server = process.env.SLUICE_TEST_SERVED === undefined ? null : await startClickhouse();
const db = server === null ? openChdb({ path: join(root, 'chdb') }) : openTestClickhouse({ url: server.url });
t.teardown(async () => {
  await db.close();
  await server?.close();
  await rm(root, { recursive: true, force: true });
});

const declared = fieldsOf(
  'title TEXT, year NUMBER, open BOOLEAN, tags ARRAY, home OBJECT, taken DATETIME, born DATE, count INTEGER, views BIGINT, price DECIMAL',
).map((field) => (field.type === 'DECIMAL' ? { ...field, precision: 18, scale: 2 } : field));
const stored = storedStructure(declared);
const columns = new Map(stored.fields.map((field) => [field.name, field]));
/** The same types without a column: their values are in the map alone. */
const mapped = stored.fields.map((field, index) => ({
  ...field,
  name: `${field.name} too`,
  slot: `m${index}`,
}));
const fields: readonly Field[] = [...columns.values(), ...mapped];

const texts = fc.constantFrom(
  ...['', 'a', 'B', 'ab', 'Straße', 'ſ', 'K', 'k', "it's", '%', '_', '\\', '\u{1f600}', '\uffee', 'null'],
  ...['1', 'true', 'é\n'],
);
const numbers = fc.constantFrom(
  0,
  1,
  -1,
  0.1,
  1e21,
  123456789012345680000,
  5e-324,
  1.7976931348623157e308,
  9007199254740992,
  1843,
);
const scalars = fc.oneof(texts, numbers, fc.boolean());
const json = fc.oneof(
  scalars,
  fc.constant(null),
  fc.array(scalars, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'b.c', '1'), scalars, { maxKeys: 2 }),
);
const arrays = fc.array(json, { maxLength: 4 });
const objects = fc.dictionary(fc.constantFrom('city', 'a', 'b.c', "q'", '1'), json, { maxKeys: 3 });

const instants = fc.constantFrom(
  ...[
    '0001-01-01T00:00:00.000Z',
    '0099-12-31T23:59:59.999999Z',
    '1899-12-31T23:59:59.999Z',
    '1900-01-01T00:00:00.000001Z',
  ],
  ...[
    '1969-12-31T23:59:59.999Z',
    '1969-12-31T23:59:59.999999Z',
    '2026-01-31T12:00:05.123Z',
    '2026-01-31T12:00:05.123456Z',
  ],
  ...[
    '2026-01-31T12:00:05.124Z',
    '2299-12-31T23:59:59.999999Z',
    '2300-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999999Z',
  ],
);
const days = fc.constantFrom(
  '0001-01-01',
  '1900-02-28',
  '1969-12-31',
  '2000-02-29',
  '2026-01-31',
  '2400-02-29',
  '9999-12-31',
);
const edges = ['9223372036854775807', '-9223372036854775808'];

const names = fc.constantFrom(
  ...['a.png', 'b.png', 'a.jpg'].map((name) => `0197a5c8-7c1e-4d3a-9b52-0c9f6e1d2a34_${name}`),
);

function valuesOf(field: Field): fc.Arbitrary<StoredValue> {
  switch (field.type) {
    case 'TEXT':
      return texts;
    case 'NUMBER':
      return numbers;
    case 'BOOLEAN':
      return fc.boolean();
    case 'ARRAY':
      return arrays.map(canonicalJson);
    case 'OBJECT':
      return objects.map(canonicalJson);
    case 'DATETIME':
      return instants;
    case 'DATE':
      return days;
    case 'INTEGER':
      return fc.constantFrom(0, 1, -1, 2 ** 53 - 1, 1 - 2 ** 53, 1843);
    case 'BIGINT':
      return fc.constantFrom('0', '1', '-1', '9007199254740992', '9007199254740993', ...edges);
    case 'FILE':
      return names;
    case 'FILES':
      return fc.uniqueArray(names).map((list) => JSON.stringify(list));
    case 'DECIMAL':
      return fc.constantFrom('0.00', '0.01', '-0.01', '12.30', '-9999999999999999.99', '9007199254740993.01');
  }
}

const times = fc
  .constantFrom(
    '1900-01-01T00:00:00.000Z',
    '2026-01-31T12:00:00.001Z',
    '2026-01-31T12:00:00.002Z',
    '2299-12-31T23:59:59.999Z',
  )
  .map((text) => new Date(text));
const ids = fc.constantFrom('a', 'b', 'B', 'zz', "'");
interface Row {
  readonly id: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly values: ReadonlyMap<Field, StoredValue>;
}
const rows: fc.Arbitrary<Row> = fc.record({
  id: ids,
  createdAt: times,
  updatedAt: times,
  values: fc
    .tuple(...fields.map((field) => fc.option(valuesOf(field), { nil: undefined })))
    .map(
      (values) =>
        new Map(
          fields.flatMap((field, at) =>
            values[at] === undefined ? [] : [[field, values[at] as StoredValue]],
          ),
        ),
    ),
});

const targets: readonly Target[] = ['id', 'createdAt', 'updatedAt', ...fields];
const comparisons: fc.Arbitrary<Comparison> = fc
  .constantFrom(...targets)
  .chain((target) => {
    const isObject = typeof target !== 'string' && target.type === 'OBJECT';
    const paths = isObject
      ? fc.constantFrom<string[]>([], ['city'], ['a', 'b.c'], ["q'"], ['1'])
      : fc.constant<string[]>([]);
    return paths.map((path) => ({ target, path }));
  })
  .chain((found) =>
    fc.constantFrom(...operatorsFor(kindOfValue(found))).map((operator) => ({ ...found, operator })),
  )
  .chain((found) => operands(found).map((values) => ({ ...found, values })));

function operands({
  target,
  path,
  operator,
}: Omit<Comparison, 'values'> & { operator: OperatorName }): fc.Arbitrary<Comparison['values']> {
  const { operand } = operatorOf(operator);
  const one: fc.Arbitrary<StoredValue | Date> =
    path.length > 0
      ? json.filter((value) => value !== null).map(canonicalJson)
      : typeof target !== 'string'
        ? valuesOf(target)
        : target === 'id'
          ? ids
          : times;
  switch (operand) {
    case 'value':
      return one.map((value) => [value]);
    case 'values':
      return fc.array(one, { maxLength: 3 });
    case 'element':
      return json.map((value) => [canonicalJson(value)]);
    case 'elements':
      return fc.array(json.map(canonicalJson), { maxLength: 3 });
    case 'length':
      return fc.nat(4).map((value) => [value]);
    case 'boolean':
      return fc.boolean().map((value) => [value]);
  }
}

const filters = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    comparisons,
    fc.record({
      group: fc.constantFrom('any' as const, 'all' as const, 'none' as const),
      branches: fc.array(tie('filter'), { maxLength: 3 }),
    }),
  ),
})).filter;

const read = (target: Target) => (row: Row) => {
  if (target === 'id') return row.id;
  if (typeof target === 'string') return row[target].getTime();
  const value = row.values.get(target);
  return value === undefined ? undefined : typeEntry(target.type).comparable(String(value));
};

/** Of all comparisons; of the other kinds the name of what is compared. */
function typesIn(filter: Filter): readonly string[] {
  if ('branches' in filter) return filter.branches.flatMap(typesIn);
  return [typeof filter.target === 'string' ? filter.target : filter.target.type];
}

t.test('random trees find in the engine what they find in memory', async (t) => {
  const slots = stored.fields.map(
    ({ slot }) => `${slot} Nullable(${slotColumns[(slot as string)[0] as keyof typeof slotColumns].type})`,
  );
  await db.command({
    sql: `CREATE TABLE default.filtered (number UInt32, _id String, _created_at DateTime64(3, 'UTC'), _updated_at DateTime64(3, 'UTC'), ${slots.join(', ')}, _doc Map(String, String)) ENGINE = Memory`,
  });
  const byType: Record<string, number> = {};
  let asked = 0;
  let found = 0;
  for (let round = 0; round < sized(8, 2); round++) {
    const sample = fc.sample(rows, { numRuns: 300, seed: seed + round });
    await db.command({ sql: 'TRUNCATE TABLE default.filtered' });
    const lines = sample.map((row, number) => {
      const doc = Object.fromEntries([...row.values].map(([field, value]) => [field.slot, String(value)]));
      const own = Object.fromEntries(
        stored.fields.map((field) => {
          const value = row.values.get(field) ?? null;
          const isWhole = field.slot?.startsWith('i') && typeof value === 'string';
          return [field.slot, isWhole ? wholeText(value) : value];
        }),
      );
      return JSON.stringify({
        number,
        _id: row.id,
        _created_at: row.createdAt.toISOString(),
        _updated_at: row.updatedAt.toISOString(),
        ...own,
        _doc: doc,
      });
    });
    await db.command({
      sql: `INSERT INTO default.filtered SETTINGS date_time_input_format = 'best_effort' FORMAT JSONEachRow ${lines.join('\n')}`,
    });
    const trees = fc.sample(filters, { numRuns: sized(1000, 300), seed: seed + round });
    for (let at = 0; at < trees.length; at += 50) {
      const some = trees.slice(at, at + 50);
      const selects = some.map(
        (filter, index) =>
          `SELECT ${index} AS tree, groupArray(number) AS numbers FROM (SELECT number FROM default.filtered WHERE ${filterSql(filter)} ORDER BY number)`,
      );
      const answers = await db.rows<{ tree: number; numbers: number[] }>({
        sql: `${selects.join(' UNION ALL ')}`,
      });
      const byTree = new Map(answers.map(({ tree, numbers }) => [Number(tree), numbers.map(Number)]));
      for (const [index, filter] of some.entries()) {
        for (const type of typesIn(filter)) byType[type] = (byType[type] ?? 0) + 1;
        const test = filterTest(filter, read);
        const expected = sample.flatMap((row, number) => (test(row) ? [number] : []));
        const actual = byTree.get(index) ?? [];
        asked++;
        found += actual.length;
        if (JSON.stringify(actual) !== JSON.stringify(expected)) {
          const wrong =
            expected.find((number) => !actual.includes(number)) ??
            actual.find((number) => !expected.includes(number)) ??
            0;
          t.fail(
            `${filterSql(filter)}\n${JSON.stringify(filter)}\nrow ${JSON.stringify([...(sample[wrong] as Row).values].map(([field, value]) => [field.name, value]))} ${sample[wrong]?.id}: expected ${expected.includes(wrong)}`,
          );
          return;
        }
      }
    }
  }
  t.ok(found > asked, `${asked} trees, ${found} records found`);
  t.comment(`${found} records found by ${asked} trees; comparisons by type: ${JSON.stringify(byType)}`);
});
