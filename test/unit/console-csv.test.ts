/** CSV as the console reads and writes it: RFC 4180, and what spreadsheets make of it. */
import fc from 'fast-check';
import t from 'tap';
import { CsvReader, type CsvRow, sniffDelimiter } from '../../console/web/records/csv-reader.ts';
import { csvLine, guardFormula, unguardFormula } from '../../console/web/records/csv-writer.ts';
import { mapColumns } from '../../console/web/records/import-rows.ts';

function read(text: string, cuts: readonly number[] = [], delimiter = ','): CsvRow[] {
  const reader = new CsvReader({ delimiter });
  const places = [0, ...[...cuts].sort((a, b) => a - b), text.length];
  const rows = places.slice(1).flatMap((to, index) => reader.feed(text.slice(places[index], to)));
  return [...rows, ...reader.end()];
}

const plain = { slug: 's', type: 'TEXT', required: false, unique: false, hashed: false } as const;
const cellsOf = (text: string, delimiter = ','): unknown =>
  read(text, [], delimiter).map(({ cells }) => cells);

t.test('rows of RFC 4180, in any cut', async (t) => {
  const rowsOfTwo = [
    ['a', 'b'],
    ['1', '2'],
  ];
  t.strictSame(cellsOf('a,b\r\n1,2\r\n'), rowsOfTwo);
  t.strictSame(cellsOf('a,b\n1,2'), rowsOfTwo, 'LF, and none at the end');
  t.strictSame(cellsOf('a,b\r1,2\r'), rowsOfTwo, 'CR');
  t.strictSame(cellsOf('"a,""b""\r\nc",d\r\n'), [['a,"b"\r\nc', 'd']]);
  t.strictSame(cellsOf(',"",\r\n'), [[null, '', null]], 'no value, and an empty text');
  t.strictSame(cellsOf('\r\n\n\na\n\n'), [['a']], 'empty lines are no rows');
  t.strictSame(cellsOf('5" disk,"a"b\n'), [['5" disk', 'ab']], 'stray quotes');
  t.strictSame(cellsOf('a;"b;c"\n', ';'), [['a', 'b;c']]);
  t.strictSame(cellsOf(''), []);
  const cell = fc.option(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'ß') }), {
    nil: null,
  });
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 5 });
  fc.assert(
    fc.property(rows, fc.array(fc.nat(60), { maxLength: 6 }), (rows, cuts) => {
      const text = rows.map(csvLine).join('');
      const known = cuts.filter((cut) => cut <= text.length);
      t.strictSame(
        read(text, known).map(({ cells }) => cells),
        rows,
      );
    }),
  );
});

t.test('rows know their lines, and what is wrong with them', async (t) => {
  const rows = read('a,b\r\n"1\r\n2",3\r\n\r\n4,5\r\n6,"7');
  t.strictSame(
    rows.map(({ line, problem }) => [line, problem]),
    [
      [1, undefined],
      [2, undefined],
      [5, undefined],
      [6, 'A quoted cell is never closed'],
    ],
  );
  const reader = new CsvReader({ delimiter: ',' });
  const piece = 'x'.repeat(1024 * 1024);
  reader.feed('"');
  t.throws(() => Array.from({ length: 17 }, () => reader.feed(piece)), /line 1 has more than 16 MiB/);
});

t.test('the separator is sniffed', async (t) => {
  t.equal(sniffDelimiter('a,b;c\n;;;;'), ',');
  t.equal(sniffDelimiter('a;b;"c,,,"\n'), ';');
  t.equal(sniffDelimiter('a\tb\n'), '\t');
  t.equal(sniffDelimiter('alone'), ',');
});

t.test(
  'what a spreadsheet takes as a formula is written with an apostrophe, and comes back without',
  async (t) => {
    for (const text of ['=1+1', '+1', '-1', '@A1', '\t=1', '\r=1', '\n=1', "'=1", "'\n1", "''@"]) {
      t.equal(guardFormula(text), `'${text}`);
      t.equal(unguardFormula(guardFormula(text)), text);
    }
    for (const text of ['', 'a', "'quoted'", "'", '1-1']) {
      t.equal(guardFormula(text), text);
      t.equal(unguardFormula(text), text);
    }
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("'", '=', '-', '\n', 'a') }), (text) => {
        t.equal(unguardFormula(guardFormula(text)), text);
      }),
    );
  },
);

t.test('an import finds the field of a guarded name', async (t) => {
  const field = { ...plain, slug: 'cmd', name: '=cmd' };
  t.strictSame(mapColumns(["'=cmd"], [field]), [{ column: "'=cmd", field: '=cmd' }]);
});
