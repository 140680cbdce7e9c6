import { constants, existsSync, readdirSync, readlinkSync } from 'node:fs';
import { cp, type FileHandle, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { type LogEntry, type LogSegment, WriteAheadLog } from '#kernel/durable-files/write-ahead-log.ts';
import { fileHandleMethods, notedSyncs } from '../services/file-handles.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const lineOf = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
type Segment = LogSegment<LogEntry>;
const textsOf = (segments: readonly Segment[]): string[] =>
  segments.flatMap(({ entries }) => entries.map(({ line }) => Buffer.from(line).toString()));
const openLog = (directory: string) => WriteAheadLog.open(directory, (line): LogEntry => ({ line }));

async function freshLog(t: Test) {
  const directory = await temporaryFolder(t);
  return { directory, ...(await openLog(directory)) };
}

/** What a process would find that starts after a kill -9 at this moment. */
async function leftIn(t: Test, directory: string): Promise<readonly Segment[]> {
  const copy = await temporaryFolder(t);
  await cp(directory, copy, { recursive: true });
  return (await openLog(copy)).left;
}

async function onlyFile(directory: string): Promise<string> {
  const [name, ...others] = await readdir(directory);
  if (name === undefined || others.length > 0) throw new Error('there is not one file');
  return join(directory, name);
}

t.test('what was appended is found in its order', async (t) => {
  const { directory, wal, left } = await freshLog(t);
  t.strictSame(left, []);
  t.equal(await wal.seal(), null);
  const lines = [['a'], ['\n\u{1F600}'], [1, null], ['x'.repeat(100_000)]].map(lineOf);
  for (const line of lines) await wal.append({ line });
  t.strictSame(textsOf(await leftIn(t, directory)), lines.map(String));
});

t.test('every line that was acknowledged is there at that moment', async (t) => {
  const { directory, wal } = await freshLog(t);
  const acknowledged: string[] = [];
  const all = Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const line = lineOf([i]);
      await wal.append({ line });
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

t.test('a write that was cut off, or a last line that changed, is left out', async (t) => {
  const { directory, wal } = await freshLog(t);
  const lines = [lineOf(['first']), lineOf(['second']), lineOf(['third'])];
  for (const line of lines) await wal.append({ line });
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

t.test('damage to one line costs none of the others, and the segment is kept aside', async (t) => {
  const { directory, wal } = await freshLog(t);
  const lines = [lineOf(['one 1']), lineOf(['two 2']), lineOf(['three 3'])];
  for (const line of lines) await wal.append({ line });
  const path = await onlyFile(directory);
  const whole = await readFile(path);
  const texts = lines.map(String);
  const secondBegins = whole.indexOf(10) + 1;
  const secondEnds = whole.indexOf(10, secondBegins) + 1;
  for (let place = 0; place < secondEnds; place++) {
    const expected = place < secondBegins ? texts.slice(1) : [texts[0], texts[2]];
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(whole);
      changed[place] = (changed[place] as number) ^ (1 << bit);
      await writeFile(path, changed);
      const { left } = await openLog(directory);
      if (textsOf(left).join() !== expected.join()) t.fail(`bit ${bit} of byte ${place}: ${textsOf(left)}`);
      if (!((left[0]?.damage?.lines ?? 0) > 0)) t.fail(`bit ${bit} of byte ${place} is not told of`);
    }
  }
  const damaged = await readFile(path);
  const { wal: next, left } = await openLog(directory);
  const [segment] = left as [Segment];
  await segment.drop();
  t.strictSame(await readFile(segment.damage?.keptAt as string), damaged);
  t.strictSame(await leftIn(t, directory), [], 'it is not read again');
  await next.append({ line: lineOf(['later']) });
  for (const later of await leftIn(t, directory)) await later.drop();
  const { wal: last } = await openLog(directory);
  await last.append({ line: lineOf(['last']) });
  t.strictSame(await readFile(segment.damage?.keptAt as string), damaged, 'nothing takes its name');
});

t.test('a write that failed half way leaves nothing that looks like damage', async (t) => {
  const { directory, wal } = await freshLog(t);
  await wal.append({ line: lineOf(['first']) });
  const methods = await fileHandleMethods(t);
  const { write } = methods;
  let writes = 0;
  methods.write = function half(this: FileHandle, bytes: Buffer, from: number, length: number, at: number) {
    if (writes++ > 0) return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
    return (write as (...args: unknown[]) => unknown).call(this, bytes, from, length >> 1, at);
  } as unknown as FileHandle['write'];
  await t.rejects(wal.append({ line: lineOf(['x'.repeat(1000)]) }), { code: 'ENOSPC' });
  methods.write = write;
  await wal.append({ line: lineOf(['second']) });
  const left = await leftIn(t, directory);
  t.strictSame(textsOf(left), ['["first"]\n', '["second"]\n']);
  t.equal(left[0]?.damage, null);
});

t.test('large lines among others, whatever a write takes of them', async (t) => {
  const { directory, wal } = await freshLog(t);
  const methods = await fileHandleMethods(t);
  const { writev } = methods;
  const sizes = [1, 9, 300_000, 300_020, 7, 900_000];
  let writes = 0;
  methods.writev = function some(this: FileHandle, pieces: readonly Uint8Array[], at: number) {
    const bytes = Buffer.concat(pieces);
    const most = sizes[writes++ % sizes.length] as number;
    return (writev as (...args: unknown[]) => unknown).call(this, [bytes.subarray(0, most)], at);
  } as unknown as FileHandle['writev'];
  const lines = [10, 300_000, 20, 262_144, 400_000, 30].map((length, i) =>
    lineOf([i, '0123456789'.repeat(length / 10)]),
  );
  await Promise.all(lines.map((line) => wal.append({ line })));
  t.ok(writes > 3, `${writes} writes`);
  t.strictSame(textsOf(await leftIn(t, directory)), lines.map(String));
  const last = lineOf(['x'.repeat(500_000)]);
  await wal.append({ line: last, checksum: crc32(last) });
  t.equal(textsOf(await leftIn(t, directory)).at(-1), String(last), 'with a checksum');
  const [left] = await leftIn(t, directory);
  t.equal(left?.damage, null);
});

const linuxOnly =
  process.platform === 'linux' ? {} : { skip: 'what a file is opened with is read from /proc' };

t.test(
  'the names of the write-ahead log survive a power cut: its folders are synced',
  linuxOnly,
  async (t) => {
    const directory = join(await temporaryFolder(t), 'file-log');
    const synced = await notedSyncs(
      t,
      (path) => [path, existsSync(directory) ? readdirSync(directory) : []] as const,
    );
    const { wal } = await openLog(directory);
    t.strictSame(synced.splice(0), [[dirname(directory), []]], 'its own');
    await wal.append({ line: lineOf([1]) });
    t.strictSame(
      synced.splice(0),
      [[directory, ['1.wal']]],
      'that of a new segment, before it is acknowledged',
    );
    await ((await wal.seal()) as Segment).drop();
    t.strictSame(synced.splice(0), [[directory, []]], 'what is dropped stays away');
    await wal.append({ line: lineOf([2]) });
    await writeFile(await onlyFile(directory), 'damage');
    const { left } = await openLog(directory);
    synced.splice(0);
    await left[0]?.drop();
    t.strictSame(synced, [[directory, ['2.damaged']]], 'what is kept aside stays there');
  },
);

t.test(
  'a line that is acknowledged is on the disk: its file is written with O_DSYNC',
  linuxOnly,
  async (t) => {
    const { directory, wal } = await freshLog(t);
    await wal.append({ line: lineOf([1]) });
    const path = await onlyFile(directory);
    const descriptors = readdirSync('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`) === path);
    t.equal(descriptors.length, 1);
    const [, flags = ''] =
      /^flags:\s+(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${descriptors[0]}`, 'utf8')) ?? [];
    t.equal(Number.parseInt(flags, 8) & constants.O_DSYNC, constants.O_DSYNC, `flags ${flags}`);
  },
);

/** Empty: it was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

t.test('a segment whose file has disappeared is passed over', async (t) => {
  const { directory, wal } = await freshLog(t);
  await wal.append({ line: lineOf([1]) });
  await rm(await onlyFile(directory));
  await wal.append({ line: lineOf([2]) });
  const gone = (await wal.seal()) as Segment;
  t.strictSame(textsOf([gone]), ['[1]\n', '[2]\n']);
  t.equal(await gone.drop(), false);
  await wal.append({ line: lineOf([3]) });
  t.equal(await ((await wal.seal()) as Segment).drop(), true);
});

t.test('a segment is what came between two seals', async (t) => {
  const { directory, wal } = await freshLog(t);
  await wal.append({ line: lineOf([1]) });
  const first = (await wal.seal()) as Segment;
  await Promise.all([wal.append({ line: lineOf([2]) }), wal.append({ line: lineOf([3]) })]);
  t.strictSame(textsOf(await leftIn(t, directory)), ['[1]\n', '[2]\n', '[3]\n']);
  await first.drop();
  t.strictSame(textsOf(await leftIn(t, directory)), ['[2]\n', '[3]\n']);
  const second = (await wal.seal()) as Segment;
  t.strictSame(textsOf([second]), ['[2]\n', '[3]\n']);
  await second.drop();
  t.strictSame(await readdir(directory), []);
});

t.test('a seal beside appends loses none and gives none twice', async (t) => {
  const { directory, wal } = await freshLog(t);
  const sealed: Segment[] = [];
  let open = 500;
  const appends = Array.from({ length: open }, async (_, i) => {
    for (let wait = i % 20; wait > 0; wait--) await new Promise((resolve) => setImmediate(resolve));
    await wal.append({ line: lineOf([i]) });
    open--;
  });
  while (open > 0) {
    const segment = await wal.seal();
    if (segment !== null) sealed.push(segment);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(appends);
  const last = await wal.seal();
  if (last !== null) sealed.push(last);
  t.ok(sealed.length > 1, `${sealed.length} segments`);
  const expected = Array.from({ length: 500 }, (_, i) => `[${i}]\n`).sort();
  t.strictSame(textsOf(sealed).sort(), expected);
  t.strictSame(textsOf(await leftIn(t, directory)).sort(), expected);
});

t.test('a line that can not be written is refused, and the next ones are taken', async (t) => {
  const directory = join(await temporaryFolder(t), 'j');
  const { wal } = await openLog(directory);
  await rm(directory, { recursive: true });
  await t.rejects(wal.append({ line: lineOf([1]) }), { code: 'ENOENT' });
  await openLog(directory);
  await wal.append({ line: lineOf([2]) });
  t.strictSame(textsOf(await leftIn(t, directory)), ['[2]\n']);
});

t.test('a later write-ahead log does not write over an earlier one', async (t) => {
  const directory = await temporaryFolder(t);
  for (let i = 0; i < 3; i++) await (await openLog(directory)).wal.append({ line: lineOf([i]) });
  t.strictSame(textsOf(await leftIn(t, directory)), ['[0]\n', '[1]\n', '[2]\n']);
});
