import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';
import { sized } from '../services/test-size.ts';

const harness = await queryHarnessFor(t);

type Type = 'TEXT' | 'NUMBER' | 'BOOLEAN' | 'ARRAY' | 'OBJECT';
type StoredRecord = { id: string } & Record<string, unknown>;

const types: Readonly<Record<string, Type>> = {
  text: 'TEXT',
  number: 'NUMBER',
  flag: 'BOOLEAN',
  list: 'ARRAY',
  map: 'OBJECT',
};
const names = Object.keys(types);
const structure = structureOf(
  'props',
  'any',
  names.map((name) => ({ name, slug: `${name}-slug`, type: types[name] as Type })),
);
const any = spaceOf(harness, 'props', 'any', structure);
/** What the service acknowledged, in order. */
const stored: StoredRecord[] = [];

const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit));
const hostile = fc.constantFrom(
  ...["'; DROP TABLE x; --", '\\', "\\'", '\0', 'NULL', '{a:String}', '`', '"', '%', '\n', '[]', '{}', '0'],
  ...['-0', '1e400', 'true', ''],
);
const text = fc.oneof(
  hostile,
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: codeUnit }),
);
const finite = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());
const json = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.json({ noUnicodeString: false }).map((value) => JSON.parse(value)),
);
const valuesOf: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  text,
  number: finite,
  flag: fc.boolean(),
  list: fc.array(fc.oneof(json, text), { maxLength: 4 }),
  map: fc.dictionary(text, fc.oneof(json, text), { maxKeys: 4, noNullPrototype: true }),
};

/** Mostly right records, with anything anywhere now and then. */
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record(
      Object.fromEntries(names.map((name) => [name, valuesOf[name] as fc.Arbitrary<unknown>])),
      { requiredKeys: [] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record(
      Object.fromEntries(
        names.map((name) => [name, fc.oneof(json, valuesOf[name] as fc.Arbitrary<unknown>)]),
      ),
      { requiredKeys: [] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      fc.oneof(fc.constantFrom(...names, 'text-slug', '__proto__', 'id', 'constructor'), text),
      json,
      { maxKeys: 3 },
    ),
  },
  { weight: 1, arbitrary: json },
);

/** Whether a body, as JSON carries it, is a record of the structure. Written apart from the service's own rules. */
function isRight(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  if (keys.length === 0) return false;
  return (
    keys.every((key) => {
      const item = (value as Record<string, unknown>)[key];
      const type = Object.hasOwn(types, key) ? types[key] : key === 'text-slug' ? 'TEXT' : undefined;
      if (type === undefined) return false;
      if (item === null) return true;
      if (type === 'TEXT') return typeof item === 'string' && Buffer.from(item).toString() === item;
      // a form field that was left empty: no value
      if (type === 'NUMBER') return typeof item === 'number' || item === '';
      if (type === 'BOOLEAN') return typeof item === 'boolean';
      return typeof item === 'object' && Array.isArray(item) === (type === 'ARRAY');
    }) && !('text' in value && 'text-slug' in value)
  );
}

function expectedRecord(value: Record<string, unknown>): Record<string, unknown> {
  const given = 'text-slug' in value ? { ...value, text: value['text-slug'] } : value;
  return Object.fromEntries(
    names.map((name) => {
      const item = (given as Record<string, unknown>)[name] ?? null;
      return [name, name === 'number' && item === '' ? null : item];
    }),
  );
}

t.test('any JSON body is stored as it is or refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(body, async (value) => {
      const sent = JSON.stringify(value);
      const parsed = JSON.parse(sent) as unknown;
      const answer = await any.insertOne(sent);
      if (!isRight(parsed)) {
        if (answer.status !== 400) throw new Error(`answered ${answer.status}`);
        return;
      }
      if (answer.status !== 200) throw new Error(`refused: ${answer.problems.join()}`);
      const { id, createdAt, updatedAt, ...fields } = answer.body;
      // -0 equals 0
      if (
        !isDeepStrictEqual(
          noMinusZero(fields),
          noMinusZero(expectedRecord(parsed as Record<string, unknown>)),
        )
      ) {
        throw new Error(`stored ${answer.text}`);
      }
      const found = await any.findOne([['id', id]]);
      if (!isDeepStrictEqual(found.body, answer.body)) throw new Error(`found ${found.text}`);
      if (createdAt !== updatedAt) throw new Error('times differ');
      stored.push(answer.body);
    }),
    { numRuns: sized(300) },
  );
  t.ok(stored.length > sized(100), `${stored.length} stored`);
  t.strictSame((await any.find()).body, stored);
});

function noMinusZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

/** What a query value means by the declared type; undefined when the text has no such meaning. */
function meaning(name: string, value: string): unknown {
  switch (types[name]) {
    case 'TEXT':
      return value;
    case 'NUMBER':
      return value.trim() === '' ? undefined : Number(value);
    case 'BOOLEAN':
      return value === 'true' ? true : value === 'false' ? false : undefined;
    default:
      try {
        return noMinusZero(JSON.parse(value));
      } catch {
        return undefined;
      }
  }
}

function holds(record: StoredRecord, [name, value]: [string, string]): boolean {
  const own = record[name];
  if (own === null || own === undefined) return false;
  const wanted = meaning(name, value);
  return typeof own === 'number' ? own === wanted : isDeepStrictEqual(own, wanted);
}

/** Text of a query value that the service must take: one that is stored, or a right one. */
const rightPair: fc.Arbitrary<[string, string]> = fc
  .tuple(fc.constantFrom(...names), fc.nat(), fc.boolean())
  .chain(([name, pick, known]) => {
    const values = stored.map((record) => record[name]).filter((value) => value !== null);
    const arbitrary =
      known && values.length > 0
        ? fc.constant(values[pick % values.length])
        : (valuesOf[name] as fc.Arbitrary<unknown>);
    return arbitrary.map((value): [string, string] => [
      name,
      typeof value === 'string' ? Buffer.from(value).toString() : JSON.stringify(turned(value)),
    ]);
  });
/** The same JSON value with the keys of its objects the other way round. */
function turned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(turned);
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value).reverse()) {
    Object.defineProperty(result, key, {
      value: turned(item),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
}

const anyPair: fc.Arbitrary<[string, string]> = fc.tuple(fc.oneof(fc.constantFrom(...names), text), text);
const relationship = fc.constantFrom('And' as const, 'Or' as const);

t.test('right conditions match what an oracle matches', async (t) => {
  let matches = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(rightPair, { minLength: 1, maxLength: 4 }),
      relationship,
      async (pairs, paramRelationship) => {
        const answer = await any.find(pairs, { paramRelationship });
        if (answer.status !== 200) throw new Error(`refused: ${answer.problems.join()}`);
        const expected = stored.filter((record) =>
          paramRelationship === 'And'
            ? pairs.every((pair) => holds(record, pair))
            : pairs.some((pair) => holds(record, pair)),
        );
        matches += expected.length;
        if (!isDeepStrictEqual(answer.body, expected)) {
          throw new Error(`${answer.body.length} found, ${expected.length} expected`);
        }
      },
    ),
    { numRuns: sized(300) },
  );
  t.ok(matches > sized(100), `${matches} matches`);
});

t.test('any text in a query is refused or matches what it means', async (t) => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyPair, { maxLength: 3 }), relationship, async (pairs, paramRelationship) => {
      const answer = await any.find(pairs, { paramRelationship });
      if (answer.status === 400) return;
      taken++;
      if (pairs.some(([name]) => !names.includes(name))) throw new Error('an unknown field was taken');
      if (pairs.some(([name, value]) => meaning(name, value) === undefined))
        throw new Error('nonsense was taken');
      const expected = stored.filter((record) =>
        pairs.length === 0 || paramRelationship === 'And'
          ? pairs.every((pair) => holds(record, pair))
          : pairs.some((pair) => holds(record, pair)),
      );
      if (!isDeepStrictEqual(answer.body, expected))
        throw new Error(`found ${answer.body.length}, not ${expected.length}`);
    }),
    { numRuns: sized(500) },
  );
  t.ok(taken > sized(50), `${taken} taken`);
});

t.test('any query string, and any text in the headers, is answered with 200 or 4xx', async (t) => {
  const seen = new Set<number>();
  const key = fc.constantFrom('paramRelationship', 'pagination', 'sort', 'limit', 'page', 'by', 'order', 'x');
  const options = fc.oneof(
    text,
    fc.json(),
    fc.dictionary(key, fc.oneof(json, fc.dictionary(key, json))).map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(text, options, text, async (query, optionsHeader, header) => {
      for (const call of [
        any.find(query),
        any.find('', optionsHeader),
        any.find('', {}, { mutate: header }),
        any.findOne([['id', query]]),
      ]) {
        const { status } = await call;
        seen.add(status);
        if (status !== 200 && status !== 400) throw new Error(`answered ${status}`);
      }
    }),
    { numRuns: sized(200) },
  );
  t.strictSame([...seen].sort(), [200, 400]);
});

t.test('any structure makes a space that works, or is refused', async (t) => {
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    text,
    fc.constantFrom('__proto__', 'constructor', 'id', '_id', 'toString'),
  );
  const slug = fc.oneof(
    { weight: 6, arbitrary: fc.stringMatching(/^[A-Za-z0-9-][A-Za-z0-9_-]{0,8}$/) },
    text,
  );
  const field = fc.record(
    {
      name,
      slug,
      type: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT') },
        json,
      ),
      unique: fc.oneof({ weight: 8, arbitrary: fc.boolean() }, json),
      required: fc.constant(false),
      defaultValue: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, json),
    },
    { requiredKeys: ['name', 'slug', 'type'] },
  );
  let made = 0;
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(field, { minLength: 1, maxLength: 3 }), json, async (fields, value) => {
      const spaceSlug = `s${round++}`;
      // as a header arrives: text that is valid UTF-8
      const header = JSON.stringify({ projectSlug: 'structures', slug: spaceSlug, recordStructure: fields });
      const space = spaceOf(harness, 'structures', spaceSlug, header);
      const found = await space.find();
      if (found.status === 400) return;
      if (found.text !== '[]') throw new Error(found.text);
      made++;
      const values: Readonly<Record<string, unknown>> = {
        TEXT: 't',
        NUMBER: 1,
        BOOLEAN: true,
        ARRAY: [value],
        OBJECT: { value },
      };
      const entries = fields.map(
        (each) => `${JSON.stringify(each.name)}:${JSON.stringify(values[each.type as string])}`,
      );
      const stored = await space.insertOne(`{${entries.join()}}`);
      if (stored.status !== 200) throw new Error(stored.problems.join());
      if (Object.keys(stored.body).length !== fields.length + 3) throw new Error(stored.text);
      if (!isDeepStrictEqual((await space.find()).body, [stored.body])) throw new Error('found another');
      for (const each of fields) {
        const sorted = await space.find([], { sort: { by: each.name, order: 'desc' } });
        if (!isDeepStrictEqual(sorted.body, [stored.body])) throw new Error('sorted another');
      }
    }),
    { numRuns: 80 },
  );
  t.ok(made > 10, `${made} spaces made`);
});
