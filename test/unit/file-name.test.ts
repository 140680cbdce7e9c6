import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { checkOriginalName, storedName } from '#gateway/files/file-name.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { sized } from '../services/test-size.ts';

const id = '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11';
const cleaned = (name: string) => storedName(id, name).slice(id.length + 1);

t.test('stored names', async (t) => {
  const cases: [originalName: string, cleanedName: string][] = [
    ['photo.jpg', 'photo.jpg'],
    ['My Photo (1).JPG', 'My-Photo-1-.JPG'],
    ['a_b-c.d.tar.gz', 'a_b-c.d.tar.gz'],
    ['日本語.png', 'file.png'],
    ['résumé.pdf', 'r-sum-.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\a.txt', 'a.txt'],
    ['dir/', 'dir'],
    ['..', 'file'],
    ['...', 'file'],
    ['.gitignore', 'gitignore'],
    ['..hidden.txt', 'hidden.txt'],
    ['-rf.txt', 'rf.txt'],
    ['a\0b.txt', 'a-b.txt'],
    ['"quoted".txt', 'quoted-.txt'],
    ['a\r\nb', 'a-b'],
    ['no extension', 'no-extension'],
    ['%2e%2e%2fx', '2e-2e-2fx'],
    ['', 'file'],
  ];
  for (const [name, expected] of cases) t.equal(cleaned(name), expected, JSON.stringify(name));
});

t.test('long names are cut and keep their extension', async (t) => {
  const name = cleaned(`${'x'.repeat(1000)}.jpeg`);
  t.equal(name.length, 100);
  t.match(name, /^x{95}\.jpeg$/);
  t.equal(cleaned('y'.repeat(1000)).length, 100);
  t.equal(cleaned(`a.${'e'.repeat(500)}`).length, 100);
});

t.test('any name becomes a safe one', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
      const uuid = randomUUID();
      const stored = storedName(uuid, name);
      if (!isStoredName(stored) || !stored.startsWith(`${uuid}_`)) throw new Error(stored);
      if (/^[.-]/.test(stored.slice(uuid.length + 1))) throw new Error(stored);
    }),
    { numRuns: sized(3000) },
  );
  t.pass('any name');
});

t.test('only names of the stored form are looked up', async (t) => {
  for (const name of [
    '',
    'upload',
    id,
    `${id}_`,
    `${id}_a/b`,
    `${id}_a b`,
    `x${id}_a`,
    `${id}_${'a'.repeat(101)}`,
  ]) {
    t.notOk(isStoredName(name), name);
  }
  t.ok(isStoredName(`${id}_a.txt`));
});

t.test('original names are kept as sent', async (t) => {
  for (const name of [
    'a.txt',
    'dir/a.txt',
    'C:\\a.txt',
    ' 日本 "q" %22 .png',
    'x'.repeat(1000),
    '😀'.repeat(1000),
  ]) {
    t.equal(checkOriginalName(name), name);
  }
});

t.test('original names that are empty, too long or hold control characters are refused', async (t) => {
  const refused = (name: string, message: RegExp) =>
    t.throws(
      () => checkOriginalName(name),
      { code: 'invalid_multipart', status: 400, message },
      JSON.stringify(name),
    );
  refused('', /no name/);
  refused('   ', /no name/);
  for (const control of ['\0', '\t', '\x1b', '\x7f', '\x85']) refused(`a${control}b`, /control/);
  refused('x'.repeat(1001), /1000 characters/);
  refused('😀'.repeat(1001), /1000 characters/);
});
