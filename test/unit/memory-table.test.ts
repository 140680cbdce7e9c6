import fc from 'fast-check';
import t from 'tap';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { type Filter, kindOfValue } from '#records/input/filters/filter.ts';
import { filterTest } from '#records/input/filters/filter-test.ts';
import { type OperatorName, operatorOf, operatorsFor } from '#records/input/filters/operators.ts';
import type { Sort, Sorts } from '#records/input/parse-sorts.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import type { IndexShape } from '#records/memory/index-shape.ts';
import { MemoryTable } from '#records/memory/memory-table.ts';
import { RowJson } from '#records/memory/row-json.ts';
import { idOrder, orderOf } from '#records/memory/row-order.ts';
import { RowSlabs } from '#records/memory/row-slabs.ts';
import { RowWriter } from '#records/sql/packed-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { Field, Target } from '#records/structure/field.ts';
import { recordParts, wholeRecord } from '#records/structure/record-parts.ts';
import { slotOf } from '#records/structure/slots.ts';
import { createStructure } from '#records/structure/structure.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import type { FieldType } from '#records/types/field-types.ts';
import { sized } from '../services/test-size.ts';

const key = new Uint32Array([1, 2]);
const field = (name: string, type: FieldType, slot: string): Field => ({
  name,
  slug: name,
  type,
  slot,
  required: false,
  unique: false,
  hashed: false,
  keyed: false,
  description: '',
  comment: '',
  defaultValue: null,
});
const fields = [
  field('name', 'TEXT', 't0'),
  field('age', 'NUMBER', 'n0'),
  field('isOpen', 'BOOLEAN', 'b0'),
  field('more', 'NUMBER', 'm12'),
];
const structure = createStructure({
  name: 'people',
  description: '',
  projectSlug: 'demo',
  slug: 'people',
  clear: false,
  fields,
});
const epoch = new Date(0).toISOString();
const anyRecord: ReadPlan['conditions'] = { relationship: 'And', plain: [], others: [], hashed: [] };
const planOf = (others: readonly Filter[], more: Partial<ReadPlan> = {}): ReadPlan => ({
  conditions: { ...anyRecord, others },
  sort: null,
  page: null,
  ...more,
});
const targets: readonly Target[] = [...fields, 'id', 'createdAt', 'updatedAt'];

// few values, so that many rows have the same; texts that are equal in their first bytes, or nearly
const texts = ['', 'a', 'a\u0000', 'abcdef', 'abcdefg', 'abcdefh', 'Ä', '"\\\n', 'z'.repeat(60), '😀'];
const numbers = [-1e300, -2, -0.5, 0, 7, 10, 9, 1e21];
const times = [-1, 0, 1, 1_700_000_000_000, 1_700_000_000_001];
const newId = createUuidV7({ now: () => 1_700_000_000_000 });
const ids = Array.from({ length: 40 }, (_, place) =>
  // several of one millisecond, and others of their own
  place % 3 === 0
    ? `0${(place % 10).toString()}90a1b2-c3d4-7000-8000-${String(place).padStart(12, '0')}`
    : newId(),
);

const anyValueOf = (target: Target): fc.Arbitrary<string | number | boolean | Date> => {
  if (target === 'id') return fc.constantFrom(...ids);
  if (typeof target === 'string') return fc.constantFrom(...times).map((time) => new Date(time));
  if (target.type === 'TEXT') return fc.constantFrom(...texts);
  return target.type === 'NUMBER' ? fc.constantFrom(...numbers) : fc.boolean();
};
const time = fc.constantFrom(...times).map((milliseconds) => new Date(milliseconds).toISOString());
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 4 });
const row: fc.Arbitrary<StoredRow> = fc
  .record({
    id: fc.constantFrom(...ids),
    created: time,
    updated: time,
    values: fc.tuple(...fields.map((each) => optional(anyValueOf(each)))),
  })
  .map(({ id, created, updated, values }) => ({
    _id: id,
    _created_at: created,
    _updated_at: updated,
    _doc: Object.fromEntries(
      values.flatMap((value, at) =>
        value === undefined ? [] : [[slotOf(fields[at] as Field), String(value)]],
      ),
    ),
  }));

const condition = fc
  .constantFrom(...targets)
  .chain((target) => anyValueOf(target).map((value) => ({ target, value })));
/** Comparisons by other operators, and groups of them. */
const comparison: fc.Arbitrary<Filter> = fc
  .constantFrom(...targets)
  .chain((target) =>
    fc
      .constantFrom(...operatorsFor(kindOfValue({ target, path: [] })))
      .map((operator) => ({ target, operator })),
  )
  .chain(({ target, operator }) => {
    const isPresence = operatorOf(operator).operand === 'boolean';
    const value = isPresence ? fc.boolean() : anyValueOf(target);
    const isList = operatorOf(operator).operand === 'values';
    const values = isList ? fc.array(value, { maxLength: 3 }) : value.map((one) => [one]);
    return values.map((some) => ({ target, path: [], operator, values: some }));
  });
/** Comparisons that an index can answer: bounds of a value, by texts that begin others as well, and lists. */
const bounded: fc.Arbitrary<readonly Filter[]> = fc
  .constantFrom<Target>(...fields.filter(({ type }) => type !== 'BOOLEAN'), 'id', 'createdAt')
  .chain((target) => {
    const isText = typeof target !== 'string' && target.type === 'TEXT';
    const value = isText ? fc.constantFrom(...texts, 'ab', 'abcdefgh') : anyValueOf(target);
    const bounds: OperatorName[] = ['gt', 'gte', 'lt', 'lte'];
    const bound = fc.constantFrom(...bounds, ...(isText ? (['startsWith'] as const) : []));
    const one = (operator: OperatorName, values: readonly (StoredValue | Date)[]): Filter => ({
      target,
      path: [],
      operator,
      values,
    });
    return fc.oneof(
      { weight: 1, arbitrary: fc.array(value, { maxLength: 4 }).map((values) => [one('in', values)]) },
      {
        weight: 4,
        arbitrary: fc.array(
          fc.tuple(bound, value).map(([operator, of]) => one(operator, [of])),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
      },
    );
  });
const filter: fc.Arbitrary<Filter> = fc.oneof(
  comparison,
  fc.record({
    group: fc.constantFrom('any' as const, 'all' as const, 'none' as const),
    branches: fc.array(comparison, { maxLength: 3 }),
  }),
);
const sort: fc.Arbitrary<Sorts | null> = fc.option(
  fc
    .uniqueArray(fc.record({ target: fc.constantFrom(...targets), descending: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ target }: Sort) => target,
    })
    .map((some) => some as unknown as Sorts),
);
const name = fields[0] as Field;
const search: fc.Arbitrary<readonly Filter[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('', 'A', 'DEF', 'G', 'ä', 'ZZ', '"\\', '😀')
      .map((text) => [{ target: name, path: [], operator: 'icontains' as const, values: [text] }]),
  },
);
const plan: fc.Arbitrary<ReadPlan> = fc
  .record({
    search,
    relationship: fc.constantFrom('And' as const, 'Or' as const),
    plain: fc.array(condition, { maxLength: 3 }),
    others: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(filter, { maxLength: 2 }) },
      { weight: 1, arbitrary: bounded },
    ),
    sort,
    page: fc.option(fc.record({ limit: fc.integer({ min: 1, max: 8 }), offset: fc.nat(6) })),
    after: fc.option(fc.tuple(fc.constantFrom(...ids), fc.nat(20), fc.boolean()), { freq: 2 }),
  })
  .chain(({ relationship, plain, others, sort, page, after, search }) => {
    const conditions = { relationship, plain, others: [...search, ...others], hashed: [] };
    if (page === null || after === null) return fc.constant({ conditions, sort, page });
    const value = ({ target }: Sort) =>
      target === 'id'
        ? fc.constant(null)
        : // a system key always has a value
          typeof target === 'string'
          ? anyValueOf(target)
          : optional(anyValueOf(target)).map((some) => some ?? null);
    return fc.tuple(...(sort ?? []).map(value)).map((values) => ({
      conditions,
      sort,
      page: { limit: page.limit, offset: 0, after: { id: after[0], values } },
    }));
  });
const shape: fc.Arbitrary<IndexShape> = fc
  .tuple(fc.oneof(fc.subarray(fields), fc.constant([])), sort)
  .map(([some, by]) => ({ slots: some.map(slotOf).sort(), order: orderOf(by) }));

type Step =
  | { readonly kind: 'put'; readonly row: StoredRow }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'beginIndex'; readonly shape: IndexShape }
  | { readonly kind: 'dropIndex'; readonly shape: IndexShape }
  | { readonly kind: 'continueIndex'; readonly rows: number }
  | { readonly kind: 'find'; readonly plan: ReadPlan };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), row }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), id: fc.constantFrom(...ids) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('beginIndex' as const), shape }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('dropIndex' as const), shape }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('continueIndex' as const), rows: fc.nat(12) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('find' as const), plan }) },
);

type Value = string | number | boolean | Date | null;

function read(target: Target, { _id, _created_at, _updated_at, _doc }: StoredRow): Value {
  if (target === 'id') return _id;
  if (target === 'createdAt') return new Date(_created_at);
  if (target === 'updatedAt') return new Date(_updated_at);
  const text = _doc[slotOf(target)];
  if (text === undefined) return null;
  if (target.type === 'TEXT') return text;
  return target.type === 'NUMBER' ? Number(text) : text === 'true';
}

function compare(a: Value, b: Value): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return Number(a) < Number(b) ? -1 : Number(a) > Number(b) ? 1 : 0;
}

/** As docs/api.md says: what has no value comes last, and ids break ties. */
function compareRows(
  sort: ReadPlan['sort'],
  a: readonly [Value[], string],
  b: readonly [Value[], string],
): number {
  for (const [at, { target, descending }] of (sort ?? []).entries()) {
    const [one, other] = [a[0][at] as Value, b[0][at] as Value];
    if ((one === null) !== (other === null)) return one === null ? 1 : -1;
    const byValue = one === null ? 0 : compare(one, other);
    // behind an id nothing else decides
    if (byValue !== 0 || target === 'id') return descending ? -byValue : byValue;
  }
  const last = sort?.at(-1);
  const byId = compare(a[1], b[1]);
  return last?.descending === true && typeof last.target === 'string' ? -byId : byId;
}

/** Whether a text is in another one, letter case ignored; null: something else is asked. */
function contains(filter: Filter, of: StoredRow): boolean | null {
  if ('group' in filter || filter.operator !== 'icontains' || filter.target !== name) return null;
  const value = read(name, of);
  return value !== null && `${value}`.toLowerCase().includes(`${filter.values[0]}`.toLowerCase());
}

/** What a plan asks for, found in the plainest way. */
function expected(rows: readonly StoredRow[], { conditions, sort, page }: ReadPlan): readonly string[] {
  const { plain, others, relationship } = conditions;
  const valueIn = (target: Target) => (of: StoredRow) => {
    const stored = read(target, of);
    return stored === null ? undefined : stored instanceof Date ? stored.getTime() : stored;
  };
  const meets = (of: StoredRow) => [
    ...plain.map(({ target, value }) => {
      const stored = read(target, of);
      return stored !== null && compare(stored, value) === 0;
    }),
    ...others.map((other) => contains(other, of) ?? filterTest(other, valueIn)(of)),
  ];
  const sortKey = (of: StoredRow) => [(sort ?? []).map(({ target }) => read(target, of)), of._id] as const;
  const found = rows
    .filter((of) => {
      const each = meets(of);
      return relationship === 'And' || each.length < 2 ? each.every(Boolean) : each.some(Boolean);
    })
    .sort((a, b) => compareRows(sort, sortKey(a), sortKey(b)));
  if (page === null) return found.map(({ _id }) => _id);
  const { after, offset, limit } = page;
  const valueAfter = ({ target }: Sort, at: number): Value =>
    target === 'id' ? (after?.id as string) : (after?.values[at] as Value);
  const behind = found.filter(
    (of) =>
      after === undefined || compareRows(sort, sortKey(of), [(sort ?? []).map(valueAfter), after.id]) > 0,
  );
  return behind.slice(offset, offset + limit).map(({ _id }) => _id);
}

function problemOf(steps: readonly Step[], mostCompared: number, asks: { count: number }): string | null {
  const table = new MemoryTable(key, mostCompared);
  const truth = new Map<string, StoredRow>();
  for (const next of steps) {
    if (next.kind === 'put') {
      truth.set(next.row._id, next.row);
      if (!table.put(next.row)) return 'it was not kept';
    } else if (next.kind === 'remove') {
      truth.delete(next.id);
      table.remove(next.id);
    } else if (next.kind === 'beginIndex') table.beginIndex(next.shape);
    else if (next.kind === 'dropIndex') table.dropIndex(next.shape);
    else if (next.kind === 'continueIndex') table.continueIndex(next.rows);
    else {
      const numbers = table.find(next.plan);
      if (numbers === null && mostCompared < ids.length) continue;
      if (numbers === null) return 'it did not answer';
      asks.count++;
      const rows = table.rows(numbers);
      const wanted = expected([...truth.values()], next.plan);
      if (rows.map(({ _id }) => _id).join() !== wanted.join())
        return `${wanted.join()}, not ${rows.map(({ _id }) => _id)}`;
      const shown = wholeRecord(structure);
      const list = JSON.parse(Buffer.from(table.list(shown, numbers) as Uint8Array).toString('utf8')) as {
        readonly [name: string]: unknown;
      }[];
      for (const [at, record] of list.entries()) {
        const of = truth.get(wanted[at] as string) as StoredRow;
        for (const each of fields)
          if (record[each.name] !== read(each, of)) return `${each.name} of ${of._id}`;
        if (record.id !== of._id || record.createdAt !== of._created_at) return `the times of ${of._id}`;
      }
    }
    if (table.size !== truth.size) return `${table.size} rows, not ${truth.size}`;
  }
  return null;
}

t.test('plans are answered as a plain search would, with whatever indexes there are', async (t) => {
  // where few rows are compared one by one, indexes of some of the values serve as well
  for (const mostCompared of [1000, 6]) {
    const asks = { count: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 100, maxLength: 600, size: 'max' }), (steps) => {
        const problem = problemOf(steps, mostCompared, asks);
        if (problem !== null) throw new Error(problem);
      }),
      { numRuns: sized(300) },
    );
    t.ok(asks.count > 300, `${asks.count} plans`);
  }
});

t.test('an index of many rows stays in order while rows come, change and go', async (t) => {
  const table = new MemoryTable(key);
  const truth = new Map<string, StoredRow>();
  const shapes = [[], ['t0']].map((slots) => ({
    slots,
    order: orderOf([{ target: fields[1] as Field, descending: true }]),
  }));
  // the same numbers in each run
  let state = 1;
  const random = (below: number): number => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
  const known = Array.from({ length: 4000 }, newId);
  for (let step = 0; step < sized(60_000, 20_000); step++) {
    const id = known[random(known.length)] as string;
    if (random(3) === 0) {
      truth.delete(id);
      table.remove(id);
    } else {
      const at = new Date(random(1e9)).toISOString();
      const next = {
        _id: id,
        _created_at: at,
        _updated_at: at,
        _doc: { t0: texts[random(3)] as string, n0: String(random(1000)), t1: 'x'.repeat(random(200)) },
      };
      truth.set(id, next);
      table.put(next);
    }
    if (step === 3000) for (const shape of shapes) table.beginIndex(shape) && table.continueIndex(1e6);
  }
  for (const text of [null, ...texts.slice(0, 3)]) {
    const plain = text === null ? [] : [{ target: fields[0] as Field, value: text }];
    const conditions = { ...anyRecord, plain };
    const sort: Sorts = [{ target: fields[1] as Field, descending: true }];
    for (const offset of [0, 7, 600, 5000]) {
      const page = { limit: 500, offset };
      const found = table.find({ conditions, sort, page });
      const wanted = expected([...truth.values()], { conditions, sort, page });
      t.strictSame(found && table.rows(found).map(({ _id }) => _id), wanted);
    }
    const bound = (operator: OperatorName, value: number): Filter => ({
      target: fields[1] as Field,
      path: [],
      operator,
      values: [value],
    });
    const others = [bound('gt', 300), bound('lte', 400)];
    for (const by of [null, sort]) {
      const plan = { conditions: { ...conditions, others }, sort: by, page: null };
      const found = table.find(plan);
      t.strictSame(found && table.rows(found).map(({ _id }) => _id), expected([...truth.values()], plan));
    }
  }
  const rows = [...truth.values()].reduce((sum, { _doc }) => sum + JSON.stringify(_doc).length + 60, 0);
  t.ok(table.bytes < 4 * rows, 'what was removed does not stay');
});

t.test('a page behind a record that stands in front of a text’s beginning begins with it', async (t) => {
  const table = new MemoryTable(key, 0);
  const sort: Sorts = [{ target: name, descending: false }];
  table.beginIndex({ slots: [], order: orderOf(sort) });
  table.continueIndex(0);
  for (const [at, text] of ['a', 'b', 'ca', 'cb', 'cc', 'd'].entries())
    table.put({ _id: ids[at] as string, _created_at: epoch, _updated_at: epoch, _doc: { t0: text } });
  const others = [{ target: name, path: [], operator: 'startsWith' as const, values: ['c'] }];
  const page = { limit: 2, offset: 0, after: { id: ids[0] as string, values: ['a'] } };
  const found = table.find(planOf(others, { sort, page }));
  t.strictSame(found && table.rows(found).map(({ _doc }) => _doc.t0), ['ca', 'cb']);
});

t.test(
  'a page that may be long is found where few rows are, and left to the engine where many are',
  async (t) => {
    const table = new MemoryTable(key, 0);
    const slots = [slotOf(name)];
    for (const order of [idOrder, orderOf([{ target: fields[1] as Field, descending: false }])])
      if (table.beginIndex({ slots, order })) table.continueIndex(0);
    const row = (text: string, at: number) => ({
      _id: newId(),
      _created_at: epoch,
      _updated_at: epoch,
      _doc: { t0: text, n0: String(at) },
    });
    for (let at = 0; at < 1001; at++) table.put(row('many', at));
    for (let at = 0; at < 700; at++) table.put(row('few', at));
    const find = (text: string, others: readonly Filter[], sort: Sorts | null, offset = 0) => {
      const conditions = { ...anyRecord, plain: [{ target: name, value: text }], others };
      return table.find({ conditions, sort, page: { limit: 5000, offset } })?.length ?? null;
    };
    const sort: Sorts = [{ target: fields[1] as Field, descending: false }];
    const least = [{ target: fields[1] as Field, path: [], operator: 'gte' as const, values: [0] }];
    for (const [others, by] of [
      [[], null],
      [[], sort],
      [least, sort],
    ] as const) {
      t.equal(find('few', others, by), 700);
      t.equal(find('many', others, by), null);
      t.equal(find('many', others, by, 1), 1000);
    }
  },
);

t.test('a text that no row has room for bounds a page by the engine alone', async (t) => {
  const table = new MemoryTable(key, 0);
  const sort: Sorts = [{ target: name, descending: false }];
  table.beginIndex({ slots: [], order: orderOf(sort) });
  table.continueIndex(0);
  for (let at = 0; at < 600; at++)
    table.put({ _id: newId(), _created_at: epoch, _updated_at: epoch, _doc: { t0: `a${at}` } });
  const long = 'a'.repeat(RowSlabs.largest);
  const find = (bound: string, after: string) => {
    const others = [{ target: name, path: [], operator: 'gte' as const, values: [bound] }];
    const page = { limit: 2, offset: 0, after: { id: ids[0] as string, values: [after] } };
    return table.find(planOf(others, { sort, page }))?.length ?? null;
  };
  t.equal(find('a5', 'a6'), 2);
  t.equal(find(long, 'a6'), null);
  t.equal(find('a5', long), null);
});

t.test('a long list of values is not looked up on the event loop, whatever it finds', async (t) => {
  const table = new MemoryTable(key, 0);
  table.put({ _id: ids[0] as string, _created_at: epoch, _updated_at: epoch, _doc: {} });
  const find = (many: number) => {
    const values = Array.from({ length: many }, newId);
    return table.find(planOf([{ target: 'id', path: [], operator: 'in', values }]));
  };
  t.strictSame(find(500), []);
  t.equal(find(501), null);
});

t.test('a long text is compared with few bytes on the event loop: the rest is the engine’s', async (t) => {
  const table = new MemoryTable(key);
  const times = { _created_at: epoch, _updated_at: epoch };
  for (let i = 0; i < 100; i++) table.put({ _id: newId(), ...times, _doc: { t0: 'x'.repeat(5000) } });
  const find = (text: string) =>
    table.find(planOf([{ target: name, path: [], operator: 'contains', values: [text] }]));
  t.strictSame(find('y'), []);
  t.equal(find('y'.repeat(1000)), null);
});

t.test('records whose names are longer than their values fit into the buffer of an answer', async (t) => {
  const wide = Array.from({ length: 400 }, (_, at) => field(`${'n'.repeat(30)}${at}`, 'TEXT', `m${at}`));
  const shown = wholeRecord(createStructure({ ...structure, fields: wide }));
  const last = wide[399]?.name as string;
  for (let length = 100; length < 3000; length += 29) {
    const _doc = { m399: 'x'.repeat(length) };
    const stored = { _id: ids[0] as string, _created_at: epoch, _updated_at: epoch, _doc };
    const row = new RowWriter().write(stored, 1e6);
    const rows = new RowSlabs();
    const numbers = Array.from({ length: 20 }, () => rows.add(row as Buffer, 0, (row as Buffer).byteLength));
    // a new one, whose buffer has yet to grow
    const json = new RowJson().list(shown, numbers, rows, 1e9);
    const list = JSON.parse(`${json}`) as Record<string, string>[];
    if (list.some((record) => record[last] !== _doc.m399)) t.fail(`${length} characters`);
  }
});

t.test('a record shows what is selected of it', async (t) => {
  const [home, tags] = [field('home', 'OBJECT', 't1'), field('tags', 'ARRAY', 't2')];
  const table = new MemoryTable(key);
  const _doc = { t1: '{"a.b":1,"city":"Paris","zip":{"code":"é","none":null}}', t2: '[1]', t0: 'x' };
  table.put({ _id: ids[1] as string, _created_at: epoch, _updated_at: '2026-01-02T00:00:00.000Z', _doc });
  const whole = { target: home, path: [] };
  const path = (...keys: string[]) => ({ target: home, path: keys });
  const show = (...of: Parameters<typeof recordParts>[0]) =>
    JSON.parse(Buffer.from(table.record(recordParts(of), 0)).toString('utf8')) as object;
  const id = ids[1];
  t.strictSame(show(), { id });
  t.strictSame(show({ target: 'id', path: [] }, { target: tags, path: [] }), { id, tags: [1] });
  t.strictSame(show({ target: 'updatedAt', path: [] }), { id, updatedAt: '2026-01-02T00:00:00.000Z' });
  t.strictSame(show(path('city'), path('zip', 'code'), path('zip', 'none'), path('city', 'x')), {
    id,
    home: { city: 'Paris', zip: { code: 'é', none: null } },
  });
  t.strictSame(show(path('zip', 'code'), path('zip'), path('city')), {
    id,
    home: { zip: { code: 'é', none: null }, city: 'Paris' },
  });
  t.strictSame(show(path('city'), whole), { id, home: JSON.parse(_doc.t1) });
  t.strictSame(show(whole, path('city')), { id, home: JSON.parse(_doc.t1) });
});
