import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type JournalEntry, type JournalSegment, RowJournal } from '../../common/control/row-journal.ts';

const lineOf = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
type Segment = JournalSegment<JournalEntry>;
const textsOf = (segments: readonly Segment[]): string[] =>
  segments.flatMap(({ entries }) => entries.map(({ line }) => Buffer.from(line).toString()));
const openJournal = (directory: string) => RowJournal.open(directory, (line): JournalEntry => ({ line }));

async function temporaryDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-journal-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** What a process would find that starts after a kill -9 at this moment. */
async function leftIn(t: Test, directory: string): Promise<readonly Segment[]> {
  const copy = await temporaryDirectory(t);
  await cp(directory, copy, { recursive: true });
  return (await openJournal(copy)).left;
}

async function onlyFile(directory: string): Promise<string> {
  const [name, ...others] = await readdir(directory);
  if (name === undefined || others.length > 0) throw new Error('there is not one file');
  return join(directory, name);
}

t.test('what was appended is found in its order', async (t) => {
  const directory = await temporaryDirectory(t);
  const { journal, left } = await openJournal(directory);
  t.strictSame(left, []);
  t.equal(await journal.seal(), null);
  const lines = [['a'], ['\n\u{1F600}'], [1, null], ['x'.repeat(100_000)]].map(lineOf);
  for (const line of lines) await journal.append({ line });
  t.strictSame(textsOf(await leftIn(t, directory)), lines.map(String));
});

t.test('every line that was acknowledged is there at that moment', async (t) => {
  const directory = await temporaryDirectory(t);
  const { journal } = await openJournal(directory);
  const acknowledged: string[] = [];
  const all = Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const line = lineOf([i]);
      await journal.append({ line });
      acknowledged.push(String(line));
    }),
  );
  while (acknowledged.length < 300) {
    const before = [...acknowledged];
    const found = new Set(textsOf(await leftIn(t, directory)));
    for (const line of before) if (!found.has(line)) t.fail(`${line} is lost`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all;
  t.equal(textsOf(await leftIn(t, directory)).length, 300);
});

t.test('a write that was cut off, or bytes that changed, end it', async (t) => {
  const directory = await temporaryDirectory(t);
  const { journal } = await openJournal(directory);
  const lines = [lineOf(['first']), lineOf(['second']), lineOf(['third'])];
  for (const line of lines) await journal.append({ line });
  const path = await onlyFile(directory);
  const whole = await readFile(path);
  const secondEnds = whole.indexOf(lines[1] as Buffer) + (lines[1] as Buffer).byteLength;
  for (let length = secondEnds; length < whole.byteLength; length++) {
    await writeFile(path, whole.subarray(0, length));
    t.strictSame(textsOf(await leftIn(t, directory)), lines.slice(0, 2).map(String), `${length} bytes`);
  }
  for (let place = secondEnds; place < whole.byteLength; place++) {
    const changed = Buffer.from(whole);
    changed[place] = (changed[place] as number) ^ 1;
    await writeFile(path, changed);
    t.strictSame(textsOf(await leftIn(t, directory)), lines.slice(0, 2).map(String), `byte ${place}`);
  }
});

t.test('a segment is what came between two seals', async (t) => {
  const directory = await temporaryDirectory(t);
  const { journal } = await openJournal(directory);
  await journal.append({ line: lineOf([1]) });
  const first = (await journal.seal()) as Segment;
  await Promise.all([journal.append({ line: lineOf([2]) }), journal.append({ line: lineOf([3]) })]);
  t.strictSame(textsOf(await leftIn(t, directory)), ['[1]\n', '[2]\n', '[3]\n']);
  await first.drop();
  t.strictSame(textsOf(await leftIn(t, directory)), ['[2]\n', '[3]\n']);
  const second = (await journal.seal()) as Segment;
  t.strictSame(textsOf([second]), ['[2]\n', '[3]\n']);
  await second.drop();
  t.strictSame(await readdir(directory), []);
});

t.test('a seal beside appends loses none and gives none twice', async (t) => {
  const directory = await temporaryDirectory(t);
  const { journal } = await openJournal(directory);
  const sealed: Segment[] = [];
  let open = 500;
  const appends = Array.from({ length: open }, async (_, i) => {
    for (let wait = i % 20; wait > 0; wait--) await new Promise((resolve) => setImmediate(resolve));
    await journal.append({ line: lineOf([i]) });
    open--;
  });
  while (open > 0) {
    const segment = await journal.seal();
    if (segment !== null) sealed.push(segment);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(appends);
  const last = await journal.seal();
  if (last !== null) sealed.push(last);
  t.ok(sealed.length > 1, `${sealed.length} segments`);
  const expected = Array.from({ length: 500 }, (_, i) => `[${i}]\n`).sort();
  t.strictSame(textsOf(sealed).sort(), expected);
  t.strictSame(textsOf(await leftIn(t, directory)).sort(), expected);
});

t.test('a line that can not be written is refused, and the next ones are taken', async (t) => {
  const directory = join(await temporaryDirectory(t), 'j');
  const { journal } = await openJournal(directory);
  await rm(directory, { recursive: true });
  await t.rejects(journal.append({ line: lineOf([1]) }), { code: 'ENOENT' });
  await openJournal(directory);
  await journal.append({ line: lineOf([2]) });
  t.strictSame(textsOf(await leftIn(t, directory)), ['[2]\n']);
});

t.test('a later journal does not write over an earlier one', async (t) => {
  const directory = await temporaryDirectory(t);
  for (let i = 0; i < 3; i++) await (await openJournal(directory)).journal.append({ line: lineOf([i]) });
  t.strictSame(textsOf(await leftIn(t, directory)), ['[0]\n', '[1]\n', '[2]\n']);
});
