/** Random records of all types, and random filters over them. */
import fc from 'fast-check';
import {
  type Branch,
  type Comparison,
  type Item,
  type Json,
  operatorsOf,
  type Sort,
  type Type,
} from './filter-oracle.ts';
import type { FieldInput } from './record-client.ts';

export const ways = ['url', 'body', 'client'] as const;
export type Way = (typeof ways)[number];

const texts = fc.constantFrom(
  ...['', 'a', 'B', 'b', 'ab', 'aB', 'Straße', 'STRASSE', 'ſ', '\u212a', 'k', 'é', 'e\u0301', 'İ'],
  ...["it's", '%', '_', '\\', '\u{1f600}', '\uffee', 'a\nb', 'x\0y', ' a ', 'a&b=c', 'a+b', 'a,b', '$or'],
  ...['null', 'true', '1', '01', '1e3', '"1"', '"a', '["a"]', '{}', '.*'],
);
const numbers = fc.constantFrom(
  ...[0, 1, 2, -1, 0.1, -2.5, 1843, 1e21, -1e-7, 5e-324, 1.7976931348623157e308],
  ...[9007199254740991, 9007199254740992, 123456789012345680000],
);
const scalars: fc.Arbitrary<Json> = fc.oneof(texts, numbers, fc.boolean());
const keys = fc.constantFrom('city', 'a', 'b.c', "q'", '1');
/** As JSON carries it. */
const plain = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Json> =>
  values.map((value) => JSON.parse(JSON.stringify(value)));
const anything = plain(
  fc.oneof(
    { weight: 4, arbitrary: scalars },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.array(scalars, { maxLength: 2 }) },
    { weight: 1, arbitrary: fc.dictionary(keys, scalars, { maxKeys: 2 }) },
  ),
);

/** Two fields of each type: one has a column of its own, the other has none. */
export const fieldTypes: Readonly<Record<string, Type>> = Object.fromEntries(
  ['', 'late'].flatMap((name) => [
    [`${name}text`, 'TEXT'],
    [`${name}number`, 'NUMBER'],
    [`${name}flag`, 'BOOLEAN'],
    [`${name}list`, 'ARRAY'],
    [`${name}home`, 'OBJECT'],
    [`${name}moment`, 'DATETIME'],
    [`${name}day`, 'DATE'],
    [`${name}whole`, 'INTEGER'],
    [`${name}big`, 'BIGINT'],
    [`${name}price`, 'DECIMAL'],
  ]),
);
/** The same as a structure has them. */
export const typedFields: readonly FieldInput[] = Object.entries(fieldTypes).map(([name, type]) => ({
  name,
  type,
  ...(type === 'DECIMAL' && { precision: 18, scale: 2 }),
}));
const knownByClient: readonly Type[] = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
/** The fields that a way can name: the published client has the first types alone. */
export const fieldTypesOf = (way: Way): typeof fieldTypes =>
  way !== 'client'
    ? fieldTypes
    : Object.fromEntries(Object.entries(fieldTypes).filter(([, type]) => knownByClient.includes(type)));
const valuesOf: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  TEXT: texts,
  NUMBER: numbers,
  BOOLEAN: fc.boolean(),
  ARRAY: plain(fc.array(anything, { maxLength: 4 })),
  OBJECT: plain(
    fc.dictionary(keys, fc.oneof(anything, plain(fc.dictionary(keys, anything))), { maxKeys: 3 }),
  ),
};

const exactValues: Readonly<Record<string, readonly Json[]>> = {
  DATETIME: [
    ...['0001-01-01T00:00:00.000Z', '1899-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999Z'],
    ...['2026-01-31T12:00:05.123Z', '2026-01-31T12:00:05.123001Z', '2026-01-31T12:00:05.124Z'],
    ...['2299-12-31T23:59:59.999999Z', '2300-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999999Z'],
  ],
  DATE: ['0001-01-01', '0999-12-31', '1969-12-31', '2024-02-29', '2026-01-31', '2400-02-29', '9999-12-31'],
  INTEGER: [0, 1, -1, 1843, 9007199254740991, -9007199254740991],
  BIGINT: [
    '0',
    '5',
    '-5',
    '9007199254740992',
    '9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ],
  DECIMAL: ['0.00', '0.01', '-0.01', '5.00', '12.30', '9007199254740993.01', '-9999999999999999.99'],
};

export const records = fc.record(
  Object.fromEntries(
    Object.entries(fieldTypes).map(([name, type]) => [name, fc.option(valuesOfType(type), { freq: 3 })]),
  ),
);

function valuesOfType(type: Type): fc.Arbitrary<Json> {
  return valuesOf[type] ?? fc.constantFrom(...(exactValues[type] as readonly Json[]));
}

/** What stored records have; other values are made up. */
export interface Stored {
  readonly ids: readonly string[];
  /** Milliseconds. */
  readonly times: readonly number[];
}

/** @param way what can be said is not the same: an address has no null, and its lists are not empty */
export function branches(way: Way, { ids, times }: Stored): fc.Arbitrary<Branch> {
  const systemValues: Partial<Record<Type, fc.Arbitrary<Json>>> = {
    id: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: texts }),
    time: fc
      .tuple(fc.constantFrom(...times), fc.constantFrom(0, 0, 0, 1, -1, 0.25, -0.75))
      .map(([time, more]) => time + more),
    path: way === 'body' ? anything.filter((value) => value !== null) : scalars,
  };
  const listed = (values: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
    fc.oneof(
      { weight: 20, arbitrary: fc.array(values, { minLength: way === 'body' ? 0 : 1, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.array(values, { minLength: 40, maxLength: way === 'body' ? 200 : 50 }) },
    );
  const elements = way === 'body' ? anything : scalars;
  const operandOf = (operator: string, type: Type): fc.Arbitrary<Json> => {
    const values = systemValues[type] ?? valuesOfType(type);
    if (operator === 'exists') return fc.boolean();
    if (operator === 'size') return fc.nat(4);
    if (operator === 'has') return elements;
    if (operator === 'hasAny' || operator === 'hasAll') return listed(elements);
    return operator === 'in' || operator === 'nin' ? listed(values) : values;
  };
  const subjects = fc.oneof(
    {
      weight: 10,
      arbitrary: fc
        .constantFrom(...Object.entries(fieldTypesOf(way)))
        .map(([field, type]) => ({ field, path: [] as string[], type })),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom<Pick<Comparison, 'field' | 'path' | 'type'>>(
        { field: 'id', path: [], type: 'id' },
        { field: 'createdAt', path: [], type: 'time' },
        { field: 'updatedAt', path: [], type: 'time' },
      ),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.constantFrom('home', 'latehome'),
          fc.constantFrom(['city'], ['a'], ['a', 'city'], ["q'"], ['1'], ['b', 'c'], ['constructor']),
        )
        .map(([field, path]) => ({ field, path, type: 'path' as const })),
    },
  );
  const comparisons = subjects.chain((subject) =>
    fc
      .constantFrom(...operatorsOf[subject.type])
      .chain((operator) =>
        operandOf(operator, subject.type).map((operand): Item => ({ ...subject, operator, operand })),
      ),
  );
  const branchesOf = (levels: number): fc.Arbitrary<Branch> => {
    const groups = (): fc.Arbitrary<Item> =>
      fc.record({
        group: fc.constantFrom('$or' as const, '$and' as const, '$not' as const),
        branches: fc.array(branchesOf(levels - 1), { minLength: 1, maxLength: 3 }),
      });
    const item =
      levels === 0
        ? comparisons
        : fc.oneof(
            { weight: 5, arbitrary: comparisons },
            { weight: 2, arbitrary: fc.constant(null).chain(groups) },
          );
    return fc
      .array(item, { minLength: 1, maxLength: levels === 5 ? 4 : 2 })
      .map(way === 'body' ? (all) => all : distinct);
  };
  return branchesOf(5).filter((branch) => sizeOf(branch) <= 100);
}

function sizeOf(branch: Branch): number {
  return branch.reduce((sum, item) => sum + ('group' in item ? sizeOf(item.branches.flat()) : 1), 0);
}

/** In an address equal lists, and equal groups, of one branch are one; so are the keys of the client's objects. */
function distinct(items: readonly Item[]): Branch {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

export function keyOf(item: Item): string {
  return 'group' in item ? item.group : `${nameOf(item)}[${item.operator}]`;
}

export function nameOf({ field, path }: Comparison): string {
  return [field, ...path].join('.');
}

export function sortsOf(way: Way): fc.Arbitrary<readonly Sort[]> {
  const names = [...Object.keys(fieldTypesOf(way)), 'id', 'createdAt', 'updatedAt'];
  return fc
    .uniqueArray(fc.constantFrom(...names), { maxLength: 3 })
    .chain((some) => fc.tuple(...some.map((by) => sortBy(by))));
}

function sortBy(by: string): fc.Arbitrary<Sort> {
  const type = fieldTypes[by] ?? (by === 'id' ? 'id' : 'time');
  return fc.constantFrom('asc' as const, 'desc' as const).map((order) => ({ by, type, order }));
}
