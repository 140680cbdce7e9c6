import t from 'tap';
import { ApiError } from '../../common/errors/api-error.ts';
import { validateChanges } from '../../query/input/validate-changes.ts';
import { parseStructure } from '../../query/structure/parse-structure.ts';
import type { Structure } from '../../query/structure/structure.ts';
import { structureOf } from '../services/record-client.ts';
import { thrownBy } from '../services/thrown-by.ts';

const structure = parseStructure(
  structureOf('p', 's', [
    { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
    { name: 'level', type: 'NUMBER', required: true, defaultValue: 3 },
    { name: 'active', type: 'BOOLEAN' },
    { name: 'tags', type: 'ARRAY' },
    { name: 'extra', type: 'OBJECT' },
    { name: '__proto__', slug: 'proto', type: 'TEXT' },
  ]),
).structure as Structure;

const read = (body: unknown): [string, unknown][] =>
  [...validateChanges(body, structure)].map(([field, value]) => [field.slug, value]);
const refusal = (body: unknown): ApiError => {
  const error = thrownBy(() => validateChanges(body, structure));
  if (!(error instanceof ApiError)) throw new Error(`not refused: ${JSON.stringify(body)}`);
  t.equal(error.status, 400);
  return error;
};

t.test('only what is named, by name or slug, in stored form', async (t) => {
  t.strictSame(read({ 'full-name': 'x' }), [['full-name', 'x']]);
  t.strictSame(read({ fullName: '', level: -0 }), [
    ['full-name', ''],
    ['level', 0],
  ]);
  t.strictSame(read({ extra: { b: 1, a: [] }, tags: [null] }), [
    ['tags', '[null]'],
    ['extra', '{"a":[],"b":1}'],
  ]);
  t.strictSame(read({ active: null, tags: null }), [
    ['active', null],
    ['tags', null],
  ]);
  t.strictSame(read(JSON.parse('{"__proto__":"v"}')), [['proto', 'v']]);
});

t.test('what is no object with fields', async (t) => {
  for (const body of [null, 1, 'x', [], [{ level: 1 }], {}]) t.equal(refusal(body).code, 'invalid_body');
});

t.test('every problem is listed', async (t) => {
  const { code, problems } = refusal({
    fullName: null,
    level: null,
    active: 'true',
    tags: {},
    extra: [],
    nosuch: 1,
    id: 'x',
    updatedAt: null,
    constructor: 1,
  });
  t.equal(code, 'invalid_value');
  t.strictSame([...problems].sort(), [
    "Body field: 'constructor' is not in the structure",
    "Body field: 'fullName' is required and can not be cleared",
    "Body field: 'id' is set by the service and can not be given",
    "Body field: 'level' is required and can not be cleared",
    "Body field: 'nosuch' is not in the structure",
    "Body field: 'updatedAt' is set by the service and can not be given",
    "Value for Body field: 'active' should be a valid boolean",
    "Value for Body field: 'extra' should be a valid object",
    "Value for Body field: 'tags' should be a valid array",
  ]);
  t.match(refusal({ fullName: 'a', 'full-name': null }).problems, [/twice/]);
  t.match(refusal({ fullName: '\ud800' }).problems, [/surrogate/]);
});
