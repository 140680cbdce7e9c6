import fc from 'fast-check';
import t from 'tap';
import type { FileProblem } from '#query/imports/formats/file-problem.ts';
import { jsonRecords } from '#query/imports/formats/json-records.ts';
import { readInPieces } from '../services/read-in-pieces.ts';

function read(format: 'ndjson' | 'json', text: string, pieces: readonly number[] = []) {
  return readInPieces(jsonRecords(format, { largest: 1000 }), text, pieces);
}

t.test('records and their lines', async (t) => {
  const expected = [
    { value: { a: 1 }, line: 1 },
    { value: { b: 'x\n]' }, line: 3 },
  ];
  t.strictSame(read('ndjson', '{"a":1}\n\n{"b":"x\\n]"}\r\n'), expected);
  t.strictSame(read('json', '[{"a":1},\n\n{"b":"x\\n]"}\n]\n'), expected);
  t.strictSame(read('json', ' [ ] '), []);
  t.strictSame(read('ndjson', ''), []);
  t.match(read('ndjson', '{"a":\n{"a":9007199254740993}'), [
    { problem: 'it is not valid JSON', line: 1 },
    { problem: /9007199254740993/, line: 2 },
  ]);
  t.match(read('json', '[{"a" 1}, 2]'), [{ problem: 'it is not valid JSON' }, { value: 2 }]);
});

t.test('what can not be read', async (t) => {
  for (const [format, text, message] of [
    ['json', '{"a":1}', /not a JSON array/],
    ['json', 'null', /not a JSON array/],
    ['json', '', /not a JSON array/],
    ['json', '[{"a":1}', /no end/],
    ['json', '[1,,2]', /missing/],
    ['json', '[1,]', /missing/],
    ['json', '[1] 2', /follows/],
    ['json', '[1]]', /follows/],
    ['json', 'x[1]', /not a JSON array/],
    ['json', `["${'x'.repeat(2000)}"]`, /more than 1000/],
    ['ndjson', `"${'x'.repeat(2000)}"`, /more than 1000/],
  ] as const)
    for (const pieces of [[], Array.from({ length: 3000 }, () => 1)])
      t.throws(
        () => read(format, text, pieces),
        { message } as unknown as FileProblem,
        `${text.slice(0, 20)} ${pieces.length}`,
      );
});

t.test('any values come back, in any pieces', async () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 6 });
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 });
  fc.assert(
    fc.property(values, lengths, fc.constantFrom('', ' ', '\n  '), (given, pieces, gap) => {
      const texts = given.map((value) => JSON.stringify(value));
      for (const [format, text] of [
        ['ndjson', texts.map((one) => `${one}\n`).join('')],
        ['json', `[${gap}${texts.join(`${gap},${gap}`)}${gap}]`],
      ] as const) {
        if (texts.some((one) => one.length > 900)) return;
        const found = read(format, text, pieces).map(({ value }) => JSON.stringify(value));
        if (found.join('|') !== texts.join('|')) throw new Error(`${text} became ${found.join('|')}`);
      }
    }),
    { numRuns: 2000 },
  );
});
