import fc from 'fast-check';
import t from 'tap';
import { CsvRecords } from '#query/imports/formats/csv-records.ts';
import { FileProblem } from '#query/imports/formats/file-problem.ts';
import { readInPieces } from '../services/read-in-pieces.ts';

/** The records of a text that comes in pieces of some lengths. */
function read(text: string, pieces: readonly number[] = [], delimiter: string | null = null) {
  return readInPieces(new CsvRecords({ delimiter, largest: 1000 }), text, pieces);
}

const cellsOf = (text: string, ...more: [(readonly number[])?, (string | null)?]) =>
  read(text, ...more).map(({ cells }) => cells);

t.test('cells', async (t) => {
  t.strictSame(cellsOf('a,b\n1,2\n'), [
    ['a', 'b'],
    ['1', '2'],
  ]);
  t.strictSame(cellsOf('a,b\r\n,""\r\n'), [
    ['a', 'b'],
    [null, ''],
  ]);
  t.strictSame(cellsOf('a\n"x, ""y"""\n'), [['a'], ['x, "y"']]);
  t.strictSame(
    cellsOf('a;b\n1,5;2\n'),
    [
      ['a', 'b'],
      ['1,5', '2'],
    ],
    'the delimiter is that of the first line',
  );
  t.strictSame(cellsOf('"a,b";c\n1;2'), [
    ['a,b', 'c'],
    ['1', '2'],
  ]);
  t.strictSame(cellsOf('a\tb\n1\t2'), [
    ['a', 'b'],
    ['1', '2'],
  ]);
  t.strictSame(cellsOf('a,b\n1,2,\n'), [
    ['a', 'b'],
    ['1', '2', null],
  ]);
  t.strictSame(cellsOf('a|b\n', [], ','), [['a|b']]);
  t.strictSame(cellsOf(''), []);
  t.strictSame(cellsOf('\n\r\n\n'), []);
});

t.test('lines, however they end', async (t) => {
  for (const [text, lines] of [
    ['a\nb\nc\n', [1, 2, 3]],
    ['a\r\nb\r\nc', [1, 2, 3]],
    ['a\rb\rc', [1, 2, 3]],
    ['a\n\nb\r\n\r\nc', [1, 3, 5]],
    ['a\r\n"x\ny"\nc', [1, 2, 4]],
  ] as const) {
    t.strictSame(
      read(text).map(({ line }) => line),
      lines,
      JSON.stringify(text),
    );
    const single = Array.from(text, () => 1);
    t.strictSame(
      read(text, single).map(({ line }) => line),
      lines,
      `${JSON.stringify(text)}, one by one`,
    );
  }
});

t.test('what can not be read', async (t) => {
  for (const [text, line, message] of [
    ['a\n"x', 2, /no end/],
    ['a\nb\n"x"y', 3, /follows a quoted cell/],
    [`a\n"${'x'.repeat(2000)}`, 2, /more than 1000/],
    ['x'.repeat(2000), 1, /more than 1000/],
  ] as const) {
    try {
      read(
        text,
        Array.from({ length: 100 }, () => 50),
      );
      t.fail(text.slice(0, 20));
    } catch (error) {
      t.ok(error instanceof FileProblem);
      t.match(error, { line, message });
    }
  }
});

t.test('any cells come back as they were written, in any pieces', async () => {
  const cell = fc.oneof(
    fc.constant(null),
    fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', 'é', '😀'), maxLength: 8 }),
  );
  const table = fc
    .integer({ min: 2, max: 4 })
    .chain((width) =>
      fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 6 }),
    );
  const ends = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(
      table,
      ends,
      fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 30 }),
      (rows, end, pieces) => {
        const text = rows
          .map(
            (row) =>
              row.map((value) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`)).join(',') + end,
          )
          .join('');
        const found = cellsOf(text, pieces, ',');
        // a line of nothing but commas is a record
        if (JSON.stringify(found) !== JSON.stringify(rows)) throw new Error(JSON.stringify({ found, rows }));
      },
    ),
    { numRuns: 2000 },
  );
});
