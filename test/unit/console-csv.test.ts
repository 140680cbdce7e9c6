/** CSV as the console writes it: RFC 4180, and what spreadsheets make of it. */
import fc from 'fast-check';
import t from 'tap';
import { csvLine, guardFormula } from '#console/web/records/csv-writer.ts';
import { CsvRecords } from '#query/imports/formats/csv-records.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';

t.test('an import reads the rows that the console writes', async (t) => {
  const cell = fc.option(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'ß') }), {
    nil: null,
  });
  const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 5 });
  fc.assert(
    fc.property(rows, (rows) => {
      const read = new CsvRecords({ delimiter: ',', largest: 1000 }).read(rows.map(csvLine).join(''), true);
      t.strictSame(
        [...read].map(({ cells }) => cells),
        rows,
      );
    }),
  );
});

t.test('what a spreadsheet takes as a formula is written with an apostrophe', async (t) => {
  for (const text of ['=1+1', '+1', '-1', '@A1', '\t=1', '\r=1', '\n=1', "'=1", "'\n1", "''@"])
    t.equal(guardFormula(text), `'${text}`);
  for (const text of ['', 'a', "'quoted'", "'", '1-1']) t.equal(guardFormula(text), text);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("'", '=', '-', '\n', 'a') }), (text) => {
      t.equal(unescapeFormula(guardFormula(text)), text, 'an import takes it off again');
    }),
  );
});
