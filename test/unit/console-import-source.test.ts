/** Files that people import, read in pieces. */
import t from 'tap';
import { filePieces, type Pieces, previewFile, sourceRows } from '../../console/web/records/import-source.ts';

async function* pieces(...texts: readonly string[]): Pieces {
  let read = 0;
  for (const text of texts) {
    read += text.length;
    yield { text, read };
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

t.test('a preview says what a file is', async (t) => {
  const csv = await previewFile(pieces('\ufeffname;a', 'ge\nAda;36\n'));
  t.strictSame(csv, {
    format: { kind: 'csv', delimiter: ';', headRows: 1 },
    columns: ['name', 'age'],
    rows: [{ line: 2, cells: ['Ada', '36'] }],
  });
  const json = await previewFile(pieces('\n[{"a":1},', '{"b":2}, nonsense]'));
  t.strictSame(json.columns, ['a', 'b']);
  t.strictSame(json.rows.slice(0, 2), [
    { line: 2, record: { a: 1 } },
    { line: 2, record: { b: 2 } },
  ]);
  t.match(json.rows[2], { problem: /not valid JSON/ });
  t.strictSame((await previewFile(pieces(''))).columns, []);
  const long = await previewFile(pieces('a\n', ...Array.from({ length: 40 }, () => 'x\n'.repeat(50_000))));
  t.equal(long.rows.length, 100);
});

t.test('rows come without the header, and with how far they are', async (t) => {
  const seen: number[] = [];
  const format = { kind: 'csv', delimiter: ',', headRows: 1 } as const;
  const rows = await collect(sourceRows(pieces('a,b\n1', ',2\n3,4'), format, (read) => void seen.push(read)));
  t.strictSame(rows, [
    { line: 2, cells: ['1', '2'] },
    { line: 3, cells: ['3', '4'] },
  ]);
  t.strictSame(seen, [5, 11]);
});

t.test('a file is UTF-8, or refused', async (t) => {
  const text = 'größe,😀\n'.repeat(50_000);
  const read = await collect(filePieces(new Blob([text])));
  t.equal(read.map((piece) => piece.text).join(''), text);
  t.equal(read.at(-1)?.read, Buffer.byteLength(text));
  await t.rejects(collect(filePieces(new Blob([Buffer.from('größe', 'latin1')]))), /not UTF-8/);
  await t.rejects(collect(filePieces(new Blob([Buffer.from('größe').subarray(0, 3)]))), /not UTF-8/);
});

t.test('a file whose first record is large seemed to hold nothing', async (t) => {
  const value = 'x '.repeat(2_500_000);
  const csv = await previewFile(pieces('a,b\n"', value, '",1\nsmall,2\n'));
  t.match(csv, { columns: ['a', 'b'], rows: [{ cells: [value, '1'] }, { cells: ['small', '2'] }] });
  const json = await previewFile(pieces('[{"a":"', value, '"},{"b":2}]'));
  t.match(json, { columns: ['a', 'b'], rows: [{ record: { a: value } }, { record: { b: 2 } }] });
});
