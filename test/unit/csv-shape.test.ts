import fc from 'fast-check';
import t from 'tap';
import { CsvShape } from '#query/files/csv-shape.ts';
import { CsvRecords } from '#query/imports/formats/csv-records.ts';

function shapeOf(text: Uint8Array | string, piece = 1e6, nulls: readonly string[] = []): CsvShape {
  const shape = new CsvShape({ delimiter: ',', columns: 2, nulls });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += piece) shape.read(bytes.subarray(at, at + piece));
  shape.end();
  return shape;
}

/** Whether an import reads the text as records of two cells. */
function isImported(text: string): boolean {
  try {
    const records = new CsvRecords({ delimiter: ',', largest: 1000 });
    return [...records.read(text, true)].every(({ cells }) => cells.length === 2);
  } catch {
    return false;
  }
}

t.test('it takes what an import takes, in any pieces', async (t) => {
  const char = fc.constantFrom('a', ' ', ',', '"', '\n', '\r', 'é');
  const text = fc.string({ unit: char, maxLength: 30 });
  const rows = fc.array(fc.constantFrom('a,b\n', '"x\n""y",\r\n', ',\n', '\n', '1, "x"\n', '1,2,\n', '1,"x'));
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        rows.map((all) => all.join('')),
      ),
      fc.integer({ min: 1, max: 7 }),
      (text, piece) => {
        t.equal(shapeOf(text, piece).isGood, isImported(text), JSON.stringify(text));
      },
    ),
  );
});

t.test('what it counts and refuses beside', async (t) => {
  t.match(shapeOf('a,b\r\n\r\n\r\n1,2'), { isGood: true, records: 2, blankLines: 2 });
  t.equal(shapeOf(Buffer.from('a,\xe9\n', 'latin1')).isGood, false, 'no UTF-8');
  t.equal(shapeOf(Buffer.from('a,é').subarray(0, 3)).isGood, false, 'half a character');
  for (const piece of [1, 2, 100]) {
    const quoted = shapeOf('a,b\n"NA",1\n', piece, ['NA']);
    t.match(quoted, { isGood: false, hasQuotedNull: true }, 'a word for null in quotes');
    t.equal(shapeOf('a,b\nNA,"NA """\n', piece, ['NA']).isGood, true);
  }
});

t.test('it sees blanks around cells without quotes, which the engine would drop', async (t) => {
  for (const piece of [1, 3, 100]) {
    for (const text of ['a, b\n', 'a ,b\n', 'a,b \n', 'a,\tb\n', 'a,b\n1,2 ', 'a, "b"\n'])
      t.equal(shapeOf(text, piece).hasBlanks, true, JSON.stringify(text));
    for (const text of ['a b,c\n', '" a "," b"\n', 'a,"x\n y "\n'])
      t.equal(shapeOf(text, piece).hasBlanks, false, JSON.stringify(text));
  }
});
