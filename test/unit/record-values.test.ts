import t from 'tap';
import { ApiError } from '../../common/errors/api-error.ts';
import { validateRecord, validateRecords } from '../../query/input/validate-record.ts';
import { canonicalJson, NotCanonicalError } from '../../query/structure/canonical-json.ts';
import { parseStructure } from '../../query/structure/parse-structure.ts';
import type { Structure } from '../../query/structure/structure.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { thrownBy } from '../services/thrown-by.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const structure = (fields: readonly FieldInput[]): Structure =>
  parseStructure(structureOf('p', 's', fields)).structure as Structure;

t.test('canonical JSON is equal for equal values', async (t) => {
  const canonical = (text: string): string => canonicalJson(JSON.parse(text));
  for (const [input, output] of [
    ['{"b":1,"a":[true,null,{"d":1,"c":2}]}', '{"a":[true,null,{"c":2,"d":1}],"b":1}'],
    ['[1.0, 1e3, -0, 0.10, 5e-324]', '[1,1000,0,0.1,5e-324]'],
    ['{"10":1,"9":2,"é":3,"":4}', '{"":4,"10":1,"9":2,"é":3}'],
    ['{"__proto__":{"x":1},"constructor":2,"a":3}', '{"__proto__":{"x":1},"a":3,"constructor":2}'],
    ['"\\ud800\\u0000\\u2028\\n\\u0041"', '"\\ud800\\u0000\u2028\\nA"'],
    ['{"\\udfff":1}', '{"\\udfff":1}'],
    ['[]', '[]'],
    ['{}', '{}'],
  ]) {
    t.equal(canonical(input as string), output);
    t.equal(canonical(output as string), output, 'stays as it is');
  }
  t.notMatch(canonical('["\\n\\r\\u2028"]'), /[\n\r]/);
});

t.test('canonical JSON has bounds', async (t) => {
  t.equal(canonicalJson(JSON.parse(nested(100))), nested(100));
  for (const text of [nested(101), nested(1_000_000), '[1e400]', '{"a":[-1e999]}']) {
    t.type(
      thrownBy(() => canonicalJson(JSON.parse(text))),
      NotCanonicalError,
      text.slice(0, 20),
    );
  }
  const deepObject = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  t.type(
    thrownBy(() => canonicalJson(JSON.parse(deepObject))),
    NotCanonicalError,
  );
});

const person = structure([
  { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { name: 'age', type: 'NUMBER', defaultValue: 7 },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
]);

const idle = new AbortController().signal;

function problemsOf(work: () => unknown, code = 'invalid_value'): readonly string[] {
  return problemsOfError(thrownBy(work), code);
}

async function problemsIn(work: Promise<unknown>, code = 'invalid_value'): Promise<readonly string[]> {
  return problemsOfError(await rejectionOf(work), code);
}

function problemsOfError(error: unknown, code: string): readonly string[] {
  if (!(error instanceof ApiError)) throw new Error(`not an ApiError: ${error}`);
  t.equal(error.status, 400);
  t.equal(error.code, code);
  return error.problems;
}

t.test('values in their stored form, by name and by slug', async (t) => {
  t.strictSame(
    validateRecord(
      { 'full-name': 'x', age: -0, active: false, tags: [{ b: 1, a: 2 }], extra: { z: [] } },
      person,
    ),
    ['x', 0, false, '[{"a":2,"b":1}]', '{"z":[]}'],
  );
  t.strictSame(validateRecord({ fullName: '' }, person), ['', 7, null, null, null]);
  t.strictSame(validateRecord({ fullName: 'x', age: null, tags: null }, person), ['x', 7, null, null, null]);
  t.equal(Object.is(validateRecord({ fullName: 'x', age: -0 }, person)[1], 0), true);
});

t.test('misfits, with one text a field', async (t) => {
  t.strictSame(
    problemsOf(() => validateRecord({ fullName: 1, age: 'x', active: 'yes', tags: {}, extra: [] }, person)),
    [
      "Value for Body field: 'fullName' should be a valid string",
      "Value for Body field: 'age' should be a valid number",
      "Value for Body field: 'active' should be a valid boolean",
      "Value for Body field: 'tags' should be a valid array",
      "Value for Body field: 'extra' should be a valid object",
    ],
  );
  t.match(
    problemsOf(() => validateRecord({ nickname: 1, age: 'x' }, person)),
    [/nickname/, /'fullName' is required/, /age/],
  );
  t.match(
    problemsOf(() => validateRecord({ fullName: 'a', 'full-name': 'b' }, person)),
    [/fullName.*twice/],
  );
  t.match(
    problemsOf(() => validateRecord({ fullName: 'a', 'full-name': null }, person)),
    [/fullName.*twice/],
  );
  for (const key of ['id', 'createdAt', 'updatedAt']) {
    t.match(
      problemsOf(() => validateRecord({ fullName: 'a', [key]: 'x' }, person)),
      [new RegExp(key)],
    );
  }
  t.match(
    problemsOf(() => validateRecord({ fullName: '\ud800' }, person)),
    [/fullName.*valid string/],
  );
  t.match(
    problemsOf(() => validateRecord(JSON.parse('{"fullName":"a","age":1e999}'), person)),
    [/age.*number/],
  );
  t.match(
    problemsOf(() => validateRecord(JSON.parse(`{"fullName":"a","tags":${nested(101)}}`), person)),
    [/tags.*valid array: .*100 levels/],
  );
  t.match(
    problemsOf(() => validateRecord(JSON.parse('{"fullName":"a","extra":{"x":1e999}}'), person)),
    [/extra.*valid object: .*too large/],
  );
  t.match(
    problemsOf(() => validateRecord({ ['x'.repeat(5000)]: 1, fullName: 'a' }, person)),
    [/^.{90,200}$/],
  );
});

t.test('bodies of the wrong shape', async (t) => {
  for (const body of [{}, [], null, 'x', 1, true, [{ fullName: 'x' }]]) {
    problemsOf(() => validateRecord(body, person), 'invalid_body');
  }
  for (const body of [{}, [], null, 'x', { fullName: 'x' }]) {
    await problemsIn(validateRecords(body, person, idle), 'invalid_body');
  }
  t.match(
    await problemsIn(validateRecords([{ fullName: 'x' }, {}, [], null, 1], person, idle), 'invalid_body'),
    [/index 1/, /index 2/, /index 3/, /index 4/],
  );
});

t.test('arrays name the index, and a long list of problems is cut', async (t) => {
  t.match(await problemsIn(validateRecords([{ fullName: 'x' }, { fullName: 1 }, { age: 1 }], person, idle)), [
    "Value for Body field: 'fullName' should be a valid string (record at index 1)",
    "Body field: 'fullName' is required (record at index 2)",
  ]);
  const wrong = Array.from({ length: 5000 }, () => ({ x: 1 }));
  const many = await problemsIn(validateRecords(wrong, person, idle));
  t.equal(many.length, 1001);
  t.match(many.at(-1), /9000 more/);
});

t.test('hashed values are counted', async (t) => {
  const accounts = structure([
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  const records = (count: number) => Array.from({ length: count }, () => ({ password: 'x' }));
  t.equal((await validateRecords(records(1000), accounts, idle)).length, 1000);
  t.match(await problemsIn(validateRecords(records(1001), accounts, idle)), [/1001 hashed values/]);
  const plain = Array.from({ length: 2000 }, () => ({ email: 'x' }));
  t.equal((await validateRecords(plain, accounts, idle)).length, 2000);
});

t.test('fields named like parts of an object', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const odd = structure(names.map((name, i) => ({ name, slug: `f${i}`, type: 'TEXT' })));
  t.strictSame(validateRecord(JSON.parse('{"__proto__":"a","hasOwnProperty":"b"}'), odd), [
    'a',
    null,
    null,
    'b',
  ]);
  t.match(
    problemsOf(() => validateRecord(JSON.parse('{"__proto__":{}}'), odd)),
    [/__proto__.*string/],
  );
  t.match(
    problemsOf(() => validateRecord(JSON.parse('{"__proto__":"a"}'), person)),
    [/__proto__/, /fullName/],
  );
  t.match(
    problemsOf(() => validateRecord({ valueOf: 'x' }, odd)),
    [/valueOf/],
  );
});
