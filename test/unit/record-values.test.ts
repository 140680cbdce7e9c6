import t from 'tap';
import { validateRecord, validateRecords } from '#records/input/validate-record.ts';
import { canonicalJson, NotCanonicalError } from '#records/types/canonical-json.ts';
import { isPlainValue, readFieldValue, typeNames } from '#records/types/field-types.ts';
import { hostileTexts } from '../services/hostile-texts.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsIn, problemsOf, thrownBy } from '../services/thrown-by.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

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

const person = storedStructure([
  { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { name: 'age', type: 'NUMBER', defaultValue: 7 },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
]);

const idle = new AbortController().signal;

const refused = (body: unknown, space = person): readonly string[] =>
  problemsOf(() => validateRecord(body, space), 'invalid_value');
const allRefused = async (bodies: unknown, space = person, code = 'invalid_value') =>
  problemsIn(await rejectionOf(validateRecords(bodies, space, idle)), code);

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
  t.strictSame(refused({ fullName: 1, age: 'x', active: 'yes', tags: {}, extra: [] }), [
    "Value for Body field: 'fullName' should be a valid string",
    "Value for Body field: 'age' should be a valid number",
    "Value for Body field: 'active' should be a valid boolean",
    "Value for Body field: 'tags' should be a valid array",
    "Value for Body field: 'extra' should be a valid object",
  ]);
  t.match(refused({ nickname: 1, age: 'x' }), [/nickname/, /'fullName' is required/, /age/]);
  t.match(refused({ fullName: 'a', 'full-name': 'b' }), [/fullName.*twice/]);
  t.match(refused({ fullName: 'a', 'full-name': null }), [/fullName.*twice/]);
  for (const key of ['id', 'createdAt', 'updatedAt'])
    t.match(refused({ fullName: 'a', [key]: 'x' }), [new RegExp(key)]);
  t.match(refused({ fullName: '\ud800' }), [/fullName.*valid string/]);
  t.match(refused({ ['x'.repeat(5000)]: 1, fullName: 'a' }), [/^.{90,200}$/]);
  for (const [more, problem] of [
    ['"age":1e999', /age.*number/],
    [`"tags":${nested(101)}`, /tags.*valid array: .*100 levels/],
    ['"extra":{"x":1e999}', /extra.*valid object: .*too large/],
  ] as const)
    t.match(refused(JSON.parse(`{"fullName":"a",${more}}`)), [problem]);
});

t.test('bodies of the wrong shape', async (t) => {
  for (const body of [{}, [], null, 'x', 1, true, [{ fullName: 'x' }]])
    t.ok(problemsOf(() => validateRecord(body, person), 'invalid_body'));
  for (const body of [{}, [], null, 'x', { fullName: 'x' }])
    t.ok(await allRefused(body, person, 'invalid_body'));
  const indexes = [/index 1/, /index 2/, /index 3/, /index 4/];
  t.match(await allRefused([{ fullName: 'x' }, {}, [], null, 1], person, 'invalid_body'), indexes);
});

t.test('arrays name the index, and a long list of problems is cut', async (t) => {
  t.match(await allRefused([{ fullName: 'x' }, { fullName: 1 }, { age: 1 }]), [
    "Value for Body field: 'fullName' should be a valid string (record at index 1)",
    "Body field: 'fullName' is required (record at index 2)",
  ]);
  const many = await allRefused(new Array(5000).fill({ x: 1 }));
  t.equal(many.length, 1001);
  t.match(many.at(-1), /9000 more/);
});

t.test('hashed values are counted', async (t) => {
  const accounts = storedStructure([
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  const records = (count: number) => new Array(count).fill({ password: 'x' });
  t.equal((await validateRecords(records(1000), accounts, idle)).length, 1000);
  t.match(await allRefused(records(1001), accounts), [/1001 hashed values/]);
  const plain = new Array(2000).fill({ email: 'x' });
  t.equal((await validateRecords(plain, accounts, idle)).length, 2000);
});

t.test('fields named like parts of an object', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const odd = storedStructure(names.map((name, i) => ({ name, slug: `f${i}`, type: 'TEXT' })));
  const given = JSON.parse('{"__proto__":"a","hasOwnProperty":"b"}');
  t.strictSame(validateRecord(given, odd), ['a', null, null, 'b']);
  t.match(refused(JSON.parse('{"__proto__":{}}'), odd), [/__proto__.*string/]);
  t.match(refused(JSON.parse('{"__proto__":"a"}')), [/__proto__/, /fullName/]);
  t.match(refused({ valueOf: 'x' }, odd), [/valueOf/]);
});

const hostileValues: readonly unknown[] = [
  ...hostileTexts,
  ...['', 'text', 'half \ud800', '\udc00', 0, -0, 1, -1.5, 5e-324, 1e308, Number.MAX_SAFE_INTEGER + 2],
  ...[Number.NaN, Number.POSITIVE_INFINITY, true, false, [], [1], ['\ud800'], {}, { a: 1 }],
];

t.test('a plain value is the one that is read, and nothing that is refused is plain', async (t) => {
  let plain = 0;
  for (const type of typeNames) {
    for (const value of hostileValues) {
      if (!isPlainValue({ type }, value)) continue;
      plain++;
      t.strictSame(readFieldValue({ type }, value), { value }, `${type} ${String(value)}`);
      t.not(Object.is(value, -0), true, '-0 is stored as 0');
    }
  }
  t.ok(plain > 10, `${plain}`);
  for (const missing of [null, undefined]) {
    for (const type of typeNames) t.equal(isPlainValue({ type }, missing), false);
  }
});
