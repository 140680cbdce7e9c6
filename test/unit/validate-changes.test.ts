import t from 'tap';
import { validateChanges } from '#records/input/validate-changes.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const structure = storedStructure([
  { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { name: 'level', type: 'NUMBER', required: true, defaultValue: 3 },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
  { name: '__proto__', slug: 'proto', type: 'TEXT' },
]);

const read = (body: unknown): [string, unknown][] =>
  [...validateChanges(body, structure)].map(([field, value]) => [field.slug, value]);
const problems = (body: unknown, code = 'invalid_value') =>
  problemsOf(() => validateChanges(body, structure), code);

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
  for (const body of [null, 1, 'x', [], [{ level: 1 }], {}]) t.ok(problems(body, 'invalid_body'));
});

t.test('every problem is listed', async (t) => {
  const wrong = { fullName: null, level: null, active: 'true', tags: {}, extra: [], nosuch: 1, id: 'x' };
  t.strictSame([...problems({ ...wrong, updatedAt: null, constructor: 1 })].sort(), [
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
  t.match(problems({ fullName: 'a', 'full-name': null }), [/twice/]);
  t.match(problems({ fullName: '\ud800' }), [/surrogate/]);
});
