import t from 'tap';
import { identityKey, parseCredentials } from '#records/input/credentials.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { thrownBy } from '../services/thrown-by.ts';

const users = storedStructure([
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'firstName', slug: 'first-name', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'password', type: 'TEXT', hashed: true },
  { name: 'pin', type: 'NUMBER', hashed: true },
  { name: '__proto__', slug: 'proto', type: 'TEXT' },
]);

t.test('values become conditions by the type of their field', async (t) => {
  t.match(
    parseCredentials({ email: 'a@x', 'first-name': 'Ada', age: 36, password: 'p', pin: 1, id: 'i' }, users),
    {
      relationship: 'And',
      plain: [
        { target: { slug: 'email' }, value: 'a@x' },
        { target: { slug: 'first-name' }, value: 'Ada' },
        { target: { slug: 'age' }, value: 36 },
        { target: 'id', value: 'i' },
      ],
      hashed: [
        { field: { slug: 'password' }, value: 'p' },
        { field: { slug: 'pin' }, value: 1 },
      ],
    },
  );
  const odd = JSON.parse('{"__proto__":"x","password":"p"}') as unknown;
  t.match(parseCredentials(odd, users).plain, [{ target: { slug: 'proto' }, value: 'x' }]);
});

t.test('what is no credential is refused, with every problem', async (t) => {
  const refused = (body: unknown, code: string, ...problems: (string | RegExp)[]): void => {
    const error = thrownBy(() => parseCredentials(body, users)) as { problems: string[] };
    t.match(error, { status: 400, code }, JSON.stringify(body));
    for (const problem of problems) t.match(error.problems.join('\n'), problem, JSON.stringify(body));
  };
  for (const body of [null, [], 'x', 1, true, undefined, [{ email: 'a' }]]) refused(body, 'invalid_body');
  refused({}, 'invalid_condition', /not hashed/, /hashed field/);
  refused({ email: 'a' }, 'invalid_condition', /hashed field, such as a password/);
  refused({ password: 'p' }, 'invalid_condition', /not hashed, such as an email/);
  refused(
    { email: { $ne: '' }, password: ['p'], age: '36', tags: {}, nosuch: 1, createdAt: 'x', id: { $gt: '' } },
    'invalid_value',
    /'email' should be a valid string/,
    /'password' should be a valid string/,
    /'age' should be a valid number/,
    /'tags' should be a valid array/,
    /'nosuch' is not in the structure/,
    /'createdAt' can not be used/,
    /'id' should be a valid string/,
  );
  refused({ email: null, password: null }, 'invalid_value', /'email'/, /'password'/);
  refused(
    { firstName: 'a', 'first-name': 'b', password: 'p' },
    'invalid_value',
    /'firstName' is given twice/,
  );
  refused({ email: '\ud800', password: 'p' }, 'invalid_value', /surrogate/);
});

t.test('hashed conditions are few', async (t) => {
  const hashes = Array.from({ length: 6 }, (_, i) => ({ name: `h${i}`, type: 'TEXT', hashed: true }));
  const many = storedStructure([{ name: 'email', type: 'TEXT' }, ...hashes]);
  const body = { email: 'a', h0: 'x', h1: 'x', h2: 'x', h3: 'x', h4: 'x' };
  t.equal(parseCredentials(body, many).hashed.length, 5);
  t.match(
    thrownBy(() => parseCredentials({ ...body, h5: 'x' }, many)),
    { code: 'invalid_condition' },
  );
});

t.test('an identity is what its unique fields say', async (t) => {
  const key = (body: object, space = 'space') =>
    identityKey(space, parseCredentials({ password: 'p', ...body }, users));
  const ada = key({ email: 'a@x' });
  t.equal(key({ email: 'a@x', password: 'other' }), ada);
  t.equal(key({ firstName: 'Ada', email: 'a@x', age: 1 }), ada, 'more fields make no other identity');
  t.not(key({ email: 'b@x' }), ada);
  t.not(key({ email: 'a@x' }, 'elsewhere'), ada);
  t.equal(key({ firstName: 'Ada', age: 1 }), key({ age: 1, firstName: 'Ada' }), 'in any order');
  t.not(key({ firstName: 'Ada', age: 1 }), key({ firstName: 'Ada', age: 2 }));
  t.not(key({ age: 1 }), key({ firstName: '1' }));
  t.ok(key({ email: 'x'.repeat(100_000) }).length < 100);
});
