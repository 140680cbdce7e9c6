/** Arrays that have INSERTs of their own, of just the columns of their structures. */
import t from 'tap';
import { hostileTexts } from '../services/hostile-texts.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const size = 450;

const people: readonly FieldInput[] = [
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'password', type: 'TEXT', hashed: true },
  { name: 'age', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  // the last ones have no column
  ...Array.from({ length: 26 }, (_, i) => ({ name: `text ${i}`, slug: `text-${i}`, type: 'TEXT' })),
];
const readings: readonly FieldInput[] = fieldsOf('number NUMBER unique, place OBJECT');

function space(slug: string, fields: readonly FieldInput[]) {
  return spaceOf(harness, 'arrays', slug, fields);
}

const text = (i: number): string => hostileTexts[i % hostileTexts.length] as string;
const person = (i: number): object => ({
  email: `${i} ${text(i)}`,
  ...(i % 2 === 0 ? { age: i / 7, 'text 0': text(i) } : { active: i % 3 === 0, 'text 25': text(i) }),
  ...(i % 5 === 0 ? { tags: [text(i), i], 'text 24': null } : {}),
  ...(i === 3 ? { password: 'a secret' } : {}),
});
const reading = (i: number): object => (i % 4 === 0 ? { number: -i } : { place: { [text(i)]: i } });
const arrayOf = (make: (i: number) => object, from: number): object[] =>
  Array.from({ length: size }, (_, i) => make(from + i));

t.test('arrays of several structures at once are what find answers, and none is there twice', async (t) => {
  const spaces = [space('people', people), space('others', people), space('readings', readings)] as const;
  const [first, others, numbers] = spaces;
  for (const one of spaces)
    t.equal(
      (await one.insert([{ [one === numbers ? 'number' : 'email']: 0.5 }])).status === 200,
      one === numbers,
    );
  const inserts = [0, size].flatMap((from) => [
    { of: first, sent: arrayOf(person, from) },
    { of: others, sent: arrayOf(person, from) },
    { of: numbers, sent: arrayOf(reading, from) },
  ]);
  const answers = await Promise.all(
    inserts.map(async ({ of, sent }) => ({ of, answer: await of.insert(sent) })),
  );
  for (const { of, answer } of answers) {
    t.equal(answer.status, 200);
    t.equal(answer.body.length, size);
    const found = new Map((await of.find()).body.map((record: { id: string }) => [record.id, record]));
    for (const record of answer.body) t.strictSame(found.get(record.id), record);
  }
  t.strictSame((await first.findOne([['email', `7 ${text(7)}`]])).body['text 25'], text(7));
  t.equal((await first.findOne([['text-25', text(7)]])).body['text 25'], text(7));
  const third = await first.findOne([
    ['email', `3 ${text(3)}`],
    ['password', 'a secret'],
  ]);
  t.equal(third.body.email, `3 ${text(3)}`);
  t.equal((await numbers.findOne([['number', '-4']])).body.number, -4);
  const again = await others.insert(arrayOf(person, size - 1));
  t.equal(again.status, 400);
  t.equal(again.code, 'not_unique');
  t.match(again.problems[0], 'A record with this');
  t.equal((await others.find()).body.length, 2 * size);
});
