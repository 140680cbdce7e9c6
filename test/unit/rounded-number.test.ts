/** Numbers that no double holds are refused, and not stored as another number without a word. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { readText } from '#console/web/records/field-types.ts';
import { readFilter } from '#console/web/records/filters.ts';
import { roundedNumber, roundingOf } from '#kernel/json/rounded-number.ts';
import { readCell } from '#query/imports/thread/cell-values.ts';
import { readFunctionResources } from '#query/input/read-function-resources.ts';
import { readQueryConditions } from '#query/input/read-query-conditions.ts';
import { StructureCache } from '#query/input/structure-cache.ts';
import { readConditionValue } from '#records/input/filters/filter-reader.ts';
import { parseConditions } from '#records/input/parse-conditions.ts';
import { parseOptions } from '#records/input/parse-options.ts';
import type { Field } from '#records/structure/field.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { type Structure, structureText } from '#records/structure/structure.ts';
import { readFieldValue } from '#records/types/field-types.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { parseJson } from '#server/http/parse-json.ts';
import { structureOf } from '../services/record-client.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { thrownBy } from '../services/thrown-by.ts';

const { signal } = new AbortController();
const found = (json: string) => roundedNumber(Buffer.from(json), json);

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
      const rounded = roundingOf(String(n)) !== null;
      return !rounded || BigInt(Number(n)) !== n;
    }),
    { seed: 12 },
  );
});

t.test('a number that would become 0 is found as well, and 0 is none', async (t) => {
  const zeros = '0'.repeat(400);
  for (const number of [
    ...[
      '1e-400',
      '-1e-400',
      '1E-0400',
      '0.5e-324',
      '2e-324',
      '123.456e-99999999',
      '0.00000000000000000001e-310',
    ],
    ...[`0.${zeros}1`, `-0.${zeros}1`, `1${'0'.repeat(20)}.0e-350`],
  ]) {
    t.match(roundingOf(number), 'is too close to 0 for a NUMBER', number);
    for (const [before, after] of [
      ['', ''],
      ['[', ']'],
      ['{"a":"1e-400\\"","b":[1,', ' ]}'],
      ['\n', '\n'],
    ])
      t.equal(found(`${before}${number}${after}`), number);
    t.match(readCell({ type: 'NUMBER' } as Field, number), { problem: /^(is too close|should be)/ }, number);
    t.match(readText({ type: 'NUMBER' }, number), { problem: /too close to 0/ });
    t.match(readConditionValue({ type: 'NUMBER' }, number), { problem: /number: it is too close to 0/ });
    await t.rejects(parseJson(Buffer.from(`{"n":${number}}`), signal), {
      message: /is too close to 0 for a NUMBER/,
    });
  }
  for (const number of ['0', '-0', '0e-400', `-0.${zeros}e-400`, '5e-324', '3e-324', '-2.5e-324', '1e-300']) {
    t.equal(roundingOf(number), null, number);
    t.equal(found(`[${number}]`), null);
    const stored = Number(number) + 0;
    t.strictSame(
      readFieldValue({ type: 'NUMBER' }, Number(number)),
      { value: stored },
      'no minus before a 0',
    );
    t.strictSame(readConditionValue({ type: 'NUMBER' }, number), { value: stored });
  }
  for (const json of ['{"a":"1e-400","b":"x, 1e-400"}', '["a-e-412"]', '["7e-123"]', '[1e-30,"[1e-400"]'])
    t.equal(found(json), null, json);
});

t.test('a long row of zeros is read once', async (t) => {
  // tried in all ways it takes hours
  const zeros = '0'.repeat(3_000_000);
  t.equal(roundingOf(`${zeros}.5`), null);
  t.match(roundingOf(`${zeros}12345678901234567890`), /more digits/);
});

t.test('bodies, conditions and imports say it', async (t) => {
  const body = Buffer.from('[{"n":1},{"n":12345678901234567890}]');
  for (const cuts of [[], [8]]) {
    await t.rejects(parseJson(body, signal, cuts), {
      code: 'invalid_body',
      message: /12345678901234567890 has more/,
    });
  }
  t.match(readConditionValue({ type: 'NUMBER' }, '12345678901234567890'), { problem: /more digits/ });
  t.match(readConditionValue({ type: 'NUMBER' }, '12345678901234567000'), { value: 12345678901234567000 });
  for (const sign of ['-', '+'])
    t.match(
      readConditionValue({ type: 'NUMBER' }, `${sign}12345678901234567890`),
      { problem: /more digits/ },
      sign,
    );
  t.match(readConditionValue({ type: 'ARRAY' }, '[-12345678901234567890]'), {
    problem: /^should be a valid array: the/,
  });
  t.match(readConditionValue({ type: 'OBJECT' }, '{"n":12345678901234567890}'), {
    problem: /object: the number 1/,
  });
});

const structure = storedStructure([
  { name: 'n', type: 'NUMBER' },
  { name: 'list', type: 'ARRAY' },
  { name: 'data', type: 'OBJECT' },
]);
const refused = (t: Test, name: string, code: string, read: () => unknown) =>
  t.match(thrownBy(read), { status: 400, code, problems: [/1234567890123456789\d has more digits/] }, name);

t.test('filters, options and controls of a query say it', async (t) => {
  for (const query of [
    'n=-12345678901234567890',
    'list=[12345678901234567890]',
    'data={"a":12345678901234567890}',
  ]) {
    const read = () =>
      parseConditions(readQueryConditions([...new URLSearchParams(query)], structure), structure, 'And');
    t.match(thrownBy(read), { code: 'invalid_condition', problems: [/more digits/] }, query);
  }
  for (const query of ['list[has]=12345678901234567890', 'data.a=-12345678901234567890'])
    refused(t, query, 'invalid_condition', () =>
      parseConditions(readQueryConditions([...new URLSearchParams(query)], structure), structure, 'And'),
    );
  const after = '{"id":"a","value":12345678901234567890}';
  const sort = '"sort":{"by":"n"}';
  refused(t, 'options', 'invalid_options', () =>
    parseOptions(`{${sort},"pagination":{"limit":1,"after":${after}}}`, structure),
  );
  const controls = new Map([
    ['$after', [after]],
    ['$limit', ['1']],
  ] as const);
  refused(t, '$after', 'invalid_options', () => parseOptions(`{${sort}}`, structure, controls));
});

t.test('structures say it, and stored ones stay readable', async (t) => {
  const path = { projectSlug: 'p', slug: 's' };
  const cache = new StructureCache({ scopes: [], bytes: 1e6 });
  const header = (defaultValue: string, initialData = '[]') =>
    structureOf('p', 's', [{ name: 'n', type: 'NUMBER', defaultValue: 5 }])
      .replace(/"defaultValue":5/, `"defaultValue":${defaultValue}`)
      .replace(/}$/, `,"initialData":${initialData}}`);
  const big = '12345678901234567890';
  refused(t, 'a default', 'invalid_structure', () => cache.read(header(big), path));
  refused(t, 'initial data', 'invalid_structure', () => cache.read(header('1', `[{"n":${big}}]`), path));
  t.ok(cache.read(header('12345678901234567000'), path), 'as JavaScript writes it');
  const request = {
    params: { project: 'p' },
    header: () => `{"mustExistSpaceStructures":[${header(big)}]}`,
  } as unknown as HttpRequest;
  refused(t, 'within function-resources', 'invalid_header', () => readFunctionResources(request, cache));

  const { structure: stored } = parseStructure(header(big));
  t.equal(stored?.fields[0]?.defaultValue, Number(big), 'a text that was stored before');
  t.strictSame(parseStructure(structureText(stored as Structure)).problems, []);
});

t.test('the form and the filters of the dashboard say it', async (t) => {
  t.match(readText({ type: 'NUMBER' }, ' -12345678901234567890'), { problem: /more digits/ });
  t.match(readText({ type: 'NUMBER' }, '36'), { value: 36 });
  t.match(readText({ type: 'ARRAY' }, '[12345678901234567890]'), {
    problem: /^This can’t be stored: the number 1234/,
  });
  t.match(readText({ type: 'OBJECT' }, '{"a":-12345678901234567890}'), { problem: /the number -1234/ });
  for (const [operator, text] of [
    ['has', '12345678901234567890'],
    ['hasAny', '[12345678901234567890]'],
    ['hasAll', '1, 12345678901234567890'],
  ] as const)
    t.match(readFilter('list', { type: 'ARRAY' }, { operator, text }), { problem: /more digits/ }, operator);
});
