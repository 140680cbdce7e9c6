/** A form made from a structure: what it shows of a record, and what it sends. */
import t from 'tap';
import type { Field } from '#console/web/projects/structure.ts';
import { cellText } from '#console/web/records/cell-text.ts';
import { withDigitsOf } from '#console/web/records/field-types.ts';
import { readDigits } from '#console/web/records/read-value.ts';
import { type Form, fieldProblems, formOf, readForm } from '#console/web/records/record-form.ts';

const field = { required: false, unique: false, hashed: false };
const fields: readonly Field[] = [
  { ...field, name: 'name', slug: 'name', type: 'TEXT', required: true },
  { ...field, name: 'age', slug: 'age', type: 'NUMBER', required: true, defaultValue: 0 },
  { ...field, name: 'active', slug: 'active', type: 'BOOLEAN' },
  { ...field, name: 'tags', slug: 'tags', type: 'ARRAY' },
  { ...field, name: 'address', slug: 'address', type: 'OBJECT' },
  { ...field, name: 'password', slug: 'password', type: 'TEXT', hashed: true },
];

function filled(form: Form, texts: Readonly<Record<string, string | null>>): Form {
  const changes = Object.entries(texts).map(
    ([name, text]) => [name, { text: text ?? '', none: text === null }] as const,
  );
  return new Map([...form, ...changes]);
}

t.test('a new record', async (t) => {
  const form = formOf(fields, null);
  t.strictSame(form.get('age'), { text: '0', none: false }, 'begins with the default');
  const empty = readForm(fields, form, null);
  t.strictSame([...empty.problems], [['name', 'This field is required.']]);
  const texts = {
    name: '',
    age: '-1.5',
    active: 'false',
    tags: '["a"]',
    address: '{"zip":1}',
    password: 'pw',
  };
  t.strictSame(readForm(fields, filled(form, texts), null), {
    body: { name: '', age: -1.5, active: false, tags: ['a'], address: { zip: 1 }, password: 'pw' },
    problems: new Map(),
  });
  t.strictSame(readForm(fields, filled(form, { name: 'a', age: null }), null).body, { name: 'a' });
  const wrong = filled(form, { name: 'a', age: 'old', active: 'perhaps', tags: '{}', address: '[' });
  t.strictSame([...readForm(fields, wrong, null).problems.keys()], ['age', 'active', 'tags', 'address']);
});

t.test('times, days, whole numbers and decimals', async (t) => {
  const of = (name: string, type: Field['type'], digits: object = {}): Field => {
    return { ...field, name, slug: name, type, ...digits };
  };
  const typed = [
    of('at', 'DATETIME'),
    of('day', 'DATE'),
    of('seats', 'INTEGER'),
    of('odometer', 'BIGINT'),
    of('price', 'DECIMAL', { precision: 6, scale: 2 }),
  ];
  const read = (texts: Readonly<Record<string, string>>) =>
    readForm(typed, filled(formOf(typed, null), texts), null);
  const right = {
    at: '2026-01-31T12:00:00.123456+01:00',
    day: '2026-01-31',
    seats: '4',
    odometer: ' -9223372036854775808',
    price: '0012.3',
  };
  t.strictSame(read(right), {
    body: { ...right, seats: 4, odometer: '-9223372036854775808' },
    problems: new Map(),
  });
  const stored = { ...right, seats: 4 };
  t.equal(formOf(typed, stored).get('price')?.text, '0012.3', 'as it was answered');
  const needsZone = /^Write a time and its zone/;
  for (const [name, text, problem] of [
    ['at', '2026-01-31', needsZone],
    ['at', '2026-01-31T12:00:00', needsZone],
    ['at', '2026-02-30T12:00:00Z', needsZone],
    ['at', '2026-01-31T12:00:60Z', needsZone],
    ['at', '2026-01-31T25:00:00Z', needsZone],
    ['day', '31.1.2026', /^Write a day/],
    ['day', '2026-02-29', /^Write a day/],
    ['seats', '1.0', /^Write a whole number/],
    ['seats', '9007199254740992', /A BIGINT field takes more/],
    ['odometer', '1e3', /^Write a whole number/],
    ['odometer', '9223372036854775808', /to 9223372036854775807/],
    ['price', '1,5', /such as 12.30/],
    ['price', '1.005', /at most 2 digits behind the point/],
    ['price', '10000', /at most 4 digits before the point/],
  ] as const)
    t.match(read({ [name]: text }).problems.get(name), problem, `${name}: ${text}`);
  t.strictSame(read({ price: '9999.990' }).problems.size, 0, 'zeros that say nothing');
});

t.test('the digits of a DECIMAL', async (t) => {
  t.strictSame(readDigits('18', ' 2'), { precision: 18, scale: 2 });
  t.strictSame(readDigits('38', '38'), { precision: 38, scale: 38 });
  for (const precision of ['', '0', '39', '1.5', '-1', 'x']) t.match(readDigits(precision, '0'), /1 to 38/);
  for (const scale of ['', '5', '-1', 'x']) t.match(readDigits('4', scale), /from 0 to 4/);
  const field = { type: 'TEXT', precision: 4, scale: 2 } as const;
  t.equal(JSON.stringify(withDigitsOf(field, field)), '{"type":"TEXT"}', 'other types have none');
});

t.test('a change sends what was changed', async (t) => {
  const record = { name: 'Ada', age: 36, active: null, tags: ['a'], address: { zip: 1 } };
  const form = formOf(fields, record);
  t.strictSame(readForm(fields, form, record), { body: {}, problems: new Map() });
  t.strictSame(readForm(fields, filled(form, { tags: null, password: 'new', active: 'true' }), record).body, {
    active: true,
    tags: null,
    password: 'new',
  });
  t.strictSame(
    [...readForm(fields, filled(form, { name: null, age: null }), record).problems.keys()],
    ['name', 'age'],
  );
});

t.test('a field called __proto__ is a field', async (t) => {
  const odd: Field = { ...field, name: '__proto__', slug: 'p', type: 'TEXT' };
  const { body } = readForm([odd], new Map([['__proto__', { text: 'x', none: false }]]), null);
  t.equal(JSON.stringify(body), '{"__proto__":"x"}');
  t.strictSame(formOf([odd], JSON.parse('{"__proto__":"x"}')).get('__proto__'), { text: 'x', none: false });
});

t.test('problems of the API stand at their fields', async (t) => {
  const problems = [
    "Value for Body field: 'age' should be a valid number",
    "Body field: 'name' is required",
    "A record with this 'name' already exists",
    "Field 'age' is unique, and two records of the request have the same value",
    'something else',
  ];
  const sorted = fieldProblems(problems, fields);
  t.strictSame([...sorted.byField.keys()], ['age', 'name']);
  t.match(sorted.byField.get('name'), /required.*already exists/);
  t.match(sorted.byField.get('age'), /valid number.*unique/);
  t.strictSame(sorted.others, ['something else']);
});

t.test('a cell never shows more than fits', async (t) => {
  t.equal(cellText(null), null);
  t.equal(cellText(undefined), null);
  t.strictSame(cellText(''), { text: '', cut: false });
  t.strictSame(cellText(-0.5), { text: '-0.5', cut: false });
  t.strictSame(cellText(false), { text: 'false', cut: false });
  t.strictSame(cellText('a\r\nb'), { text: 'a  b', cut: false });
  t.strictSame(cellText(['a', { b: null }]), { text: '["a",{"b":null}]', cut: false });
  const large = cellText('x'.repeat(1_000_000));
  t.strictSame([large?.text.length, large?.cut], [120, true]);
  t.equal(cellText(`${'x'.repeat(119)}😀`)?.text, 'x'.repeat(119), 'no half of a pair');
  const wide = cellText(Array.from({ length: 100_000 }, () => ({ a: 'y'.repeat(1000) })));
  t.strictSame([wide?.text.slice(0, 9), wide?.cut], ['[{"a":"yy', true]);
  let deep: unknown = 1;
  for (let level = 0; level < 100; level++) deep = [deep];
  t.equal(cellText(deep)?.cut, true);
});
