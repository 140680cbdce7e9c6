import t from 'tap';
import { readQueryConditions } from '#query/input/read-query-conditions.ts';
import { type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import { conditionsSql, indexedConditions } from '#records/sql/conditions-sql.ts';
import { parseQueryString } from '#server/http/query-string.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const structure = storedStructure([
  { name: 'fullName', slug: 'full-name', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
  { name: 'secret', type: 'TEXT', hashed: true },
  { name: 'pin', type: 'NUMBER', hashed: true },
  { name: '__proto__', slug: 'proto', type: 'TEXT' },
]);

type Pairs = readonly (readonly [string, string])[];
type Relationship = 'And' | 'Or';
const parsed = (given: string | Pairs, relationship: Relationship = 'And', space = structure): Conditions => {
  const pairs = typeof given === 'string' ? parseQueryString(given) : given;
  return parseConditions(readQueryConditions(pairs, space), space, relationship);
};
const sql = (given: string | Pairs, relationship?: Relationship): string | null =>
  conditionsSql(parsed(given, relationship));
const problems = (given: string | Pairs, relationship?: Relationship): readonly string[] =>
  problemsOf(() => parsed(given, relationship), 'invalid_condition');

t.test('one literal a type', async (t) => {
  for (const [query, condition] of [
    ['fullName=Ada', "t0 = 'Ada'"],
    ['full-name=Ada', "t0 = 'Ada'"],
    ['age=36', "n0 = toFloat64('36')"],
    ['active=true', 'b0 = true'],
    ['active=false', 'b0 = false'],
    ['tags= [1, {"b":1,"a":2}] ', `t1 = '[1,{"a":2,"b":1}]'`],
    [`extra={"b":1,"a":"it's"}`, `t2 = '{"a":"it\\'s","b":1}'`],
    ['id=x', "_id = 'x'"],
    ['createdAt=2026-01-31T12:00:00.5Z', "_created_at = toDateTime64('2026-01-31 12:00:00.500', 3, 'UTC')"],
    ['updatedAt=2024-02-29T00:00:00Z', "_updated_at = toDateTime64('2024-02-29 00:00:00.000', 3, 'UTC')"],
    ['__proto__=x', "t3 = 'x'"],
  ] as const)
    t.equal(sql(query), `(${condition})`);
  t.equal(sql(''), null);
});

t.test('And and Or', async (t) => {
  const parts = ["n0 = toFloat64('1')", "n0 = toFloat64('2')", "t0 = 'x'"];
  t.equal(sql('age=1&age=2&fullName=x'), `(${parts.join(' AND ')})`);
  t.equal(sql('age=1&age=2&fullName=x', 'Or'), `(${parts.join(' OR ')})`);
});

t.test('hostile text is only text', async (t) => {
  for (const [value, literal] of [
    ["'; DROP TABLE x; --", "'\\'; DROP TABLE x; --'"],
    ['\\', "'\\\\'"],
    ["\\'", "'\\\\\\''"],
    ['{x:String}', "'{x:String}'"],
    ['a\0b', "'a\0b'"],
    ['`', "'`'"],
    ['NULL', "'NULL'"],
    ['', "''"],
    ['😀\u2028', "'😀\u2028'"],
  ] as const) {
    t.equal(sql([['fullName', value]]), `(t0 = ${literal})`);
    t.equal(sql([['id', value]]), `(_id = ${literal})`);
  }
});

t.test('numbers are strict decimal text', async (t) => {
  for (const [text, literal] of [
    ['0', '0'],
    ['-0', '0'],
    ['+1', '1'],
    ['007', '7'],
    ['.5', '0.5'],
    ['-1.50', '-1.5'],
    ['1e0', '1'],
    ['1E+2', '100'],
    ['1e-7', '1e-7'],
    ['1e21', '1e+21'],
    ['5e-324', '5e-324'],
  ]) {
    t.equal(sql([['age', text as string]]), `(n0 = toFloat64('${literal}'))`, text as string);
  }
  const wrong = ['', ' 1', '1 ', 'x', '1 OR 1=1', '0x10', '1_000', '1,5', '1.', '.', 'e5', '--1', 'NaN'];
  for (const text of [...wrong, 'Infinity', '-Infinity', '1e999', '١', '1\n', '1e', 'null', '1n', '0b1'])
    t.strictSame(problems([['age', text]]), ["Value for Query field: 'age' should be a valid number"], text);
});

t.test('the other types are as strict', async (t) => {
  for (const text of ['', 'True', 'TRUE', '1', '0', 'yes', ' true', 'null']) {
    t.strictSame(problems([['active', text]]), ["Value for Query field: 'active' should be a valid boolean"]);
  }
  const tooDeep = `${'['.repeat(101)}${']'.repeat(101)}`;
  for (const text of ['', 'x', '{}', '[', '"[]"', 'null', '1', `[1e999]`, tooDeep, '['.repeat(100_000)])
    t.match(problems([['tags', text]]), [/^Value for Query field: 'tags' should be a valid array/]);
  for (const text of ['', 'x', '[]', '{', 'null', '{"a":1e999}', '{a:1}']) {
    t.match(problems([['extra', text]]), [/^Value for Query field: 'extra' should be a valid object/]);
  }
  t.match(problems([['fullName', '\ud800']]), [/fullName.*valid string/]);
  t.match(problems([['id', '\udc00']]), [/'id'.*valid string/]);
  const noDays = ['', '2026', '2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z'];
  for (const text of [...noDays, '2026-01-01T24:00:00Z', '2026-01-01T00:00:00', "2026-01-01T00:00:00Z'"])
    t.match(problems([['createdAt', text]]), [/'createdAt' should be a valid time/], text);
});

t.test('unknown fields are named, and all problems are listed', async (t) => {
  const names = [/'nosuch'/, /'age'/, /'_id'/, /''/, /'constructor'/, /searchableFields/];
  t.match(problems('nosuch=1&age=x&_id=x&=x&constructor=x&searchableFields[]=a'), names);
  t.equal(parsed(Array(100).fill(['age', '1'])).plain.length, 100);
  t.match(problems(Array(101).fill(['age', '1'])), [/101 conditions; at most 100/]);
  t.match(problems([['x'.repeat(10_000), '1']]), [/^.{100,300}$/]);
});

t.test('conditions on hashed fields stand apart', async (t) => {
  const both = parsed('fullName=a&secret=p&pin=01');
  t.equal(conditionsSql(both), "(t0 = 'a')");
  t.match(both.hashed, [
    { field: { slug: 'secret' }, value: 'p' },
    { field: { slug: 'pin' }, value: 1 },
  ]);
  t.match(problems('secret=p'), [/'secret' is hashed/]);
  t.match(problems('secret=p&pin=1'), [/'secret' is hashed/]);
  t.match(problems('fullName=a&secret=p', 'Or'), [/'secret' is hashed.*Or/]);
  t.match(problems('fullName=a&pin=p'), [/'pin' should be a valid number/]);
  t.match(problems(`fullName=a${'&secret=p'.repeat(6)}`), [/at most 5/]);
});

t.test('keys help where every record that matches has one of them', async (t) => {
  const people = storedStructure([
    { name: 'email', type: 'TEXT', unique: true },
    { name: 'code', type: 'NUMBER', unique: true },
    { name: 'age', type: 'NUMBER' },
  ]);
  const keyed = (query: string, relationship?: Relationship): unknown[] =>
    indexedConditions(parsed(query, relationship, people), (field) => field.keyed).map(({ value }) => value);
  t.strictSame(keyed(''), []);
  t.strictSame(keyed('age=1'), []);
  t.strictSame(keyed('age=1&email=a&code=2'), ['a'], 'one of them is enough');
  t.strictSame(keyed('id=x&email=a'), [], 'the id is a key itself');
  t.strictSame(keyed('email=a&code=2', 'Or'), ['a', 2]);
  t.strictSame(keyed('email=a&age=2', 'Or'), []);
  t.strictSame(keyed('email[in]=a&email[in]=b&age=1'), ['a', 'b']);
  t.strictSame(keyed('email[in]=a&email[in]=b&code=1'), [1], 'the fewest');
  t.strictSame(keyed('$or[0][email]=a&$or[1][code]=1&$or[2][code][in]=2&$or[2][code][in]=3'), ['a', 1, 2, 3]);
  t.strictSame(keyed('$or[0][email]=a&$or[1][id]=x'), ['a', 'x']);
  t.strictSame(keyed('$or[0][id]=y&$or[1][id]=x'), []);
  t.strictSame(keyed('$and[0][email]=a&$and[1][age]=1', 'Or'), ['a']);
  t.strictSame(keyed('$or[0][email]=a&$or[1][age]=1'), []);
  t.strictSame(keyed('$not[0][email]=a'), []);
  t.strictSame(keyed('email[ne]=a&email[exists]=true'), []);
});

t.test('an unknown field is told what there is, and arrays and objects how they are sent', async (t) => {
  t.match(problems('nosuch=1&another=2&tags[]=a&extra[city]=x&age[]=1&[]=x'), [
    /'nosuch' is not in the structure, which has .*'age'.*'tags'.*'updatedAt'/,
    /^Query field: 'another' is not in the structure$/,
    /'tags\[\]'.*send 'tags' with the whole array as JSON text/,
    /'extra' has no operator 'city'; an OBJECT has eq, /,
    /send 'age' without brackets/,
    /^Query field: '\[\]' is not in the structure$/,
  ]);
});
