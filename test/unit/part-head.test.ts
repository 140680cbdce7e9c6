import t from 'tap';
import { readBoundary } from '#gateway/multipart/boundary.ts';
import { parseParameters } from '#gateway/multipart/header-parameters.ts';
import { readPartHead } from '#gateway/multipart/part-head.ts';

/** The head of a part with this Content-Disposition, in UTF-8 as it travels. */
function headOf(disposition: string | Buffer, more: Record<string, string[]> = {}) {
  return readPartHead(
    { 'content-disposition': [Buffer.from(disposition).toString('latin1')], ...more },
    16_384,
  );
}

const fileNameOf = (parameters: string | Buffer) =>
  headOf(Buffer.concat([Buffer.from('form-data; name="file"; '), Buffer.from(parameters)])).fileName;

t.test('file names of every kind survive', async (t) => {
  const cases: [parameters: string, fileName: string | undefined][] = [
    ['filename="a.txt"', 'a.txt'],
    ['filename=a.txt', 'a.txt'],
    ['FileName="a.txt"', 'a.txt'],
    ['filename=""', ''],
    ['filename="日本語 ünï €.pdf"', '日本語 ünï €.pdf'],
    ['filename="😀.png"', '😀.png'],
    ['filename="with; semicolon = and, comma"', 'with; semicolon = and, comma'],
    ['filename="say \\"hi\\".txt"', 'say "hi".txt'],
    ['filename="back\\\\slash"', 'back\\slash'],
    ['filename="C:\\Users\\me\\a.txt"', 'C:\\Users\\me\\a.txt'],
    ['filename="ends with \\"', 'ends with \\'],
    ['filename="browsers say %22hi%22.txt"', 'browsers say "hi".txt'],
    ['filename="line%0D%0Abreak%0A.txt"', 'line\r\nbreak\n.txt'],
    ['filename="not%0d ours %41 %2522 %.txt"', 'not%0d ours %41 %2522 %.txt'],
    ['filename="100%.txt"', '100%.txt'],
    ['filename="../../etc/passwd"', '../../etc/passwd'],
    ['filename=" spaces "', ' spaces '],
    ["filename*=UTF-8''%E2%82%AC%20rates.txt", '€ rates.txt'],
    ["filename*=utf-8'en'%22quoted%22.txt", '"quoted".txt'],
    ["filename*=ISO-8859-1''%A3.txt", '£.txt'],
    ['filename*="UTF-8\'\'%41.txt"', 'A.txt'],
    ['filename="fallback.txt"; filename*=UTF-8\'\'%E2%82%AC.txt', '€.txt'],
    ['filename*=UTF-8\'\'%E2%82%AC.txt; filename="fallback.txt"', '€.txt'],
    ['filename*=UTF-8\'\'%FF; filename="fallback.txt"', 'fallback.txt'],
    ['filename*=nonsense; filename="fallback.txt"', 'fallback.txt'],
    ['filename="a.txt";', 'a.txt'],
    ['other=1', undefined],
  ];
  for (const [parameters, fileName] of cases) t.equal(fileNameOf(parameters), fileName, parameters);
});

t.test('a name that is not UTF-8 is read as Western text', async (t) => {
  t.equal(fileNameOf(Buffer.from('filename="caf\xe9.txt"', 'latin1')), 'café.txt');
});

t.test('long names pass the header limit in every spelling', async (t) => {
  const name = '😀'.repeat(1000);
  t.equal(fileNameOf(`filename="${name}"`), name);
  t.equal(fileNameOf(`filename*=UTF-8''${encodeURIComponent(name)}`), name);
});

t.test('the name of the field is decoded like a file name', async (t) => {
  t.equal(headOf('form-data; name="é"').name, 'é');
  t.equal(headOf('Form-Data;name=file ;filename=x').name, 'file');
});

t.test('malformed dispositions are refused', async (t) => {
  for (const disposition of [
    '',
    ';',
    'form-data',
    'form-data; filename="a"',
    'form-data; name="a',
    'form-data; name="a"b',
    'form-data; name="a"; name="b"',
    'form-data; name="file"; filename="a"; filename="b"',
    'form-data name="a"',
    'form-data; ="a"',
    'form-data; name',
    'attachment; name="a"',
    'form-data; name="file"; filename="a"b".txt"',
    'form-data; name="file"; filename*=UTF-8\'\'%zz',
  ]) {
    t.throws(() => headOf(disposition), { code: 'invalid_multipart', status: 400 }, disposition);
  }
});

t.test('transfer encodings that change bytes are refused', async (t) => {
  const withEncoding = (encoding: string) => () =>
    headOf('form-data; name="file"; filename="a"', { 'content-transfer-encoding': [encoding] });
  for (const fine of ['binary', '8bit', '7BIT']) t.doesNotThrow(withEncoding(fine));
  for (const bad of ['base64', 'quoted-printable', 'x'])
    t.throws(withEncoding(bad), { code: 'invalid_multipart' });
});

t.test('parameters are read in linear time', async (t) => {
  // these would take ages if a pattern went back over them
  for (const hostile of [
    `a; b="${'\\'.repeat(16_000)}`,
    `a; b="${'\\"'.repeat(8000)}`,
    `a${'; '.repeat(8000)}`,
  ]) {
    parseParameters(hostile);
  }
  t.pass('done');
});

t.test('boundary of a request', async (t) => {
  for (const [contentType, boundary] of [
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data;BOUNDARY="a b;c"', 'a b;c'],
    ['multipart/form-data; charset=utf-8; boundary=----WebKitFormBoundaryX', '----WebKitFormBoundaryX'],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  ] as const) {
    t.equal(readBoundary(contentType), boundary, contentType);
  }
  for (const other of [
    undefined,
    '',
    'application/json',
    'multipart/mixed; boundary=a',
    'multipart/form-data-x; boundary=a',
    'text/plain; x=multipart/form-data; boundary=a',
  ]) {
    t.throws(() => readBoundary(other), { code: 'wrong_content_type', status: 400 }, String(other));
  }
  for (const bad of [
    'multipart/form-data',
    'multipart/form-data; boundary',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="a',
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-data; boundary="a "',
    'multipart/form-data; boundary="é"',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
  ]) {
    t.throws(() => readBoundary(bad), { code: 'invalid_multipart', status: 400 }, bad);
  }
});
