import t from 'tap';
import { inferStructure } from '#records/structure/infer-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const path = { projectSlug: 'p', slug: 'people' };
const problems = (sample: unknown, code: string) => problemsOf(() => inferStructure(sample, path), code);

t.test('a field for every value, with the slug that the published client makes of camel case', async (t) => {
  const { fields, ...rest } = inferStructure(
    {
      firstName: 'Ada',
      age: 36,
      isActive: true,
      tags: [],
      homeAddress: {},
      HTMLText: '',
      'Order No': '',
      a1: 0,
    },
    path,
  );
  t.match(rest, { name: null, projectSlug: 'p', slug: 'people', auth: null, webhooks: null });
  t.strictSame(
    fields.map(({ name, slug, type }) => [name, slug, type]),
    [
      ['firstName', 'first-name', 'TEXT'],
      ['age', 'age', 'NUMBER'],
      ['isActive', 'is-active', 'BOOLEAN'],
      ['tags', 'tags', 'ARRAY'],
      ['homeAddress', 'home-address', 'OBJECT'],
      ['HTMLText', 'htmltext', 'TEXT'],
      ['Order No', 'order-no', 'TEXT'],
      ['a1', 'a1', 'NUMBER'],
    ],
  );
  for (const field of fields) {
    t.match(field, { required: false, unique: false, hashed: false, defaultValue: null });
  }
});

t.test('the keys of every record are passed over', async (t) => {
  const { fields } = inferStructure({ id: 'x', a: 1, createdAt: 'x', updatedAt: null }, path);
  t.strictSame(
    fields.map(({ name }) => name),
    ['a'],
  );
});

t.test('what has no type or no usable name is listed', async (t) => {
  const nulls = [/'a' is null/, /'c' is null/, /control/];
  t.match(problems({ a: null, b: 1, c: null, 'd\ne': 1 }, 'invalid_value'), nulls);
  const names = { ['a'.repeat(201)]: 1, 'b\0': 1, 'a b': 1, 'd`; DROP TABLE x': 1, é: 1 };
  t.match(problems(names, 'invalid_structure'), [/more than 200/, /more than 200/, /control/, /control/]);
  t.match(problems({ aB: 1, 'a-b': 1 }, 'invalid_structure'), [/repeats 'a-b'/]);
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`f${i}`, i]));
  t.match(problems(many, 'invalid_body'), [/501 fields/]);
  for (const body of [null, [], [{ a: 1 }], 'x', 1, {}, { id: 'x' }]) t.ok(problems(body, 'invalid_body'));
});

t.test('names of parts of an object are names', async (t) => {
  const sample = JSON.parse('{"constructor":1,"toString":"x"}') as unknown;
  t.match(inferStructure(sample, path).fields, [{ name: 'constructor' }, { slug: 'to-string' }]);
  t.match(problems(JSON.parse('{"__proto__":1}'), 'invalid_structure'), [/slug '__proto__'/]);
});
