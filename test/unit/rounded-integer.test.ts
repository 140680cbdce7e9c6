/** Integers that a double would round are refused, and not stored as another number without a word. */
import fc from 'fast-check';
import t from 'tap';
import { parseJson } from '../../common/http/parse-json.ts';
import { isRounded, roundedInteger } from '../../common/http/rounded-integer.ts';
import { readText } from '../../console/web/records/record-form.ts';
import { readConditionValue } from '../../query/input/filters/text-value.ts';

const { signal } = new AbortController();
const found = (json: string) => roundedInteger(Buffer.from(json));

t.test('an integer that a double would round is found, wherever it stands', async (t) => {
  for (const [json, rounded] of [
    ['12345678901234567890', '12345678901234567890'],
    ['-9007199254740993', '-9007199254740993'],
    ['{"a":[{"b":"x"},1, 9007199254740993 ]}', '9007199254740993'],
    ['{"12345678901234567890":"12345678901234567890","n":12345678901234567891}', '12345678901234567891'],
    ['["\\"",12345678901234567890]', '12345678901234567890'],
    [`[${'9'.repeat(400)}]`, '9'.repeat(310)],
  ] as const) {
    t.equal(found(json), rounded, json);
  }
});

t.test('what a double holds, or JavaScript writes so, is none', async (t) => {
  for (const json of [
    ...['9007199254740993.5', '0.12345678901234567890', '1234567890123456e3', '12345678901234567890e-5'],
    ...['9007199254740991', '9007199254740992', '12345678901234567168', '12345678901234567000', '1e21'],
    ...['"12345678901234567890"', '"id 12345678901234567890, and"', '"\\\\\\"12345678901234567890"'],
    ...['100000000000000000000000', '10000000000000000000000'],
  ]) {
    t.equal(found(json), null, json);
  }
  fc.assert(
    fc.property(fc.json(), (json) => found(json) === null),
    { seed: 12 },
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (n) => found(JSON.stringify([n])) === null),
    { seed: 12 },
  );
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), (n) => {
      const rounded = isRounded(String(n));
      return !rounded || BigInt(Number(n)) !== n;
    }),
    { seed: 12 },
  );
});

t.test('bodies, conditions and imports say it', async (t) => {
  const body = Buffer.from('[{"n":1},{"n":12345678901234567890}]');
  for (const cuts of [[], [8]]) {
    await t.rejects(parseJson(body, signal, cuts), {
      code: 'invalid_body',
      message: /12345678901234567890 has more/,
    });
  }
  t.match(readConditionValue('NUMBER', '12345678901234567890'), { problem: /more digits/ });
  t.match(readConditionValue('NUMBER', '12345678901234567000'), { value: 12345678901234567000 });
  t.match(readText('NUMBER', ' -12345678901234567890'), { problem: /more digits/ });
  t.match(readText('NUMBER', '36'), { value: 36 });
});
