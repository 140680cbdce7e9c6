import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createCloudFiles, type FileTable } from '#gateway/catalogue/cloud-files.ts';
import { LoggedFiles } from '#gateway/catalogue/logged-files.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';

const never = new AbortController().signal;
const { db, folder } = await openMigratedChdb(t);

let logs = 0;
const newDirectory = (): string => join(folder, `wal-${++logs}`);
/** Another view of the one table, which has cached nothing. */
const freshTable = (): FileTable => createCloudFiles({ db, database: 'sluice' });
const inTable = (name: string) => freshTable().findByName(name, never);
const rowsOf = async (name: string): Promise<number> =>
  (await db.rows({ sql: `SELECT 1 FROM sluice.cloud_files WHERE name = '${name}'` })).length;
/** Brings nothing into the table by itself while a test runs. */
const flushAfter = 3_600_000;

const open = (directory: string, more: Partial<Parameters<typeof LoggedFiles.open>[0]> = {}) =>
  LoggedFiles.open({ table: freshTable(), directory, log: silentLog(), flushAfter, ...more });

t.test('a file is there when its insert is acknowledged, and in the table later', async (t) => {
  const directory = newDirectory();
  const log = silentLog();
  const files = await open(directory, { log });
  const file = newFile({ originalName: `'"\\ \n \u{1F600}` });
  t.equal(await files.findByName(file.name, never), null);
  await files.insert(file, never);
  t.strictSame(await files.findByName(file.name, never), file);
  t.equal(await inTable(file.name), null);
  await files.close();
  t.strictSame(await inTable(file.name), file);
  t.strictSame(await files.findByName(file.name, never), file);
  t.strictSame(await readdir(directory), []);
  t.strictSame(log.failures, []);
});

t.test('files with and without a folder, an expiry and sizes share an INSERT', async (t) => {
  const directory = newDirectory();
  const plain = newFile();
  const sized = newFile({ contentType: 'video/mp4', width: 640, height: 360, duration: 1.5 });
  const placed = newFile({ folder: 'of-some', path: 'a/b.ts', expiresAt: new Date(Date.now() + 60_000) });
  const more = newFile();
  const first = await open(directory);
  for (const file of [plain, sized, placed]) await first.insert(file, never);
  // killed: not closed
  const next = await open(directory);
  for (const file of [plain, sized, placed]) t.strictSame(await inTable(file.name), file);
  await next.insert(more, never);
  await next.close();
  t.strictSame(await inTable(more.name), more, 'also those that are alone');
  for (const file of [plain, placed, more]) {
    const { ownerId, projectSlug, folder } = file;
    const listed = await freshTable().list({ ownerId, projectSlug, folder, limit: 1000 }, never);
    t.strictSame(
      listed.find(({ name }) => name === file.name),
      file,
    );
  }
});

t.test('it comes into the table by itself', async (t) => {
  const directory = newDirectory();
  const files = await open(directory, { flushAfter: 5 });
  const file = newFile();
  await files.insert(file, never);
  while ((await inTable(file.name)) === null) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(await rowsOf(file.name), 1);
  await files.close();
});

t.test('what a process left is brought into the table when the next one starts', async (t) => {
  const directory = newDirectory();
  const first = await open(directory);
  const file = newFile();
  await first.insert(file, never);
  // killed: not closed
  const next = await open(directory);
  t.strictSame(await inTable(file.name), file);
  t.strictSame(await readdir(directory), []);
  await next.close();
});

t.test('a flipped bit costs the row that it hits, and no other', async (t) => {
  const directory = newDirectory();
  const first = await open(directory);
  const some = Array.from({ length: 5 }, () => newFile());
  for (const file of some) await first.insert(file, never);
  const [name] = await readdir(directory);
  const path = join(directory, name as string);
  const bytes = await readFile(path);
  bytes[20] = (bytes[20] as number) ^ 4;
  await writeFile(path, bytes);
  const log = silentLog();
  const next = await open(directory, { log });
  const found = await Promise.all(some.map(({ name }) => inTable(name)));
  t.strictSame(
    found.map((file) => file !== null),
    [false, true, true, true, true],
  );
  t.match(log.failures.join(), /rows in the write-ahead log of files are damaged/);
  t.strictSame(await readdir(directory), ['1.damaged']);
  await next.close();
  const later = silentLog();
  await (await LoggedFiles.open({ table: freshTable(), directory, log: later })).close();
  t.strictSame(later.failures, [], 'it is reported once');
  t.strictSame(await readdir(directory), ['1.damaged']);
});

t.test('a process that died between the table and the write-ahead log leaves no row twice', async (t) => {
  const directory = newDirectory();
  const copy = newDirectory();
  const files = await open(directory);
  const some = Array.from({ length: 20 }, () => newFile());
  await Promise.all(some.map((file) => files.insert(file, never)));
  await cp(directory, copy, { recursive: true });
  await files.close();
  t.ok((await readdir(copy)).length > 0);
  await (await LoggedFiles.open({ table: freshTable(), directory: copy, log: silentLog() })).close();
  for (const { name } of some) t.equal(await rowsOf(name), 1);
});

t.test('a table that takes nothing loses nothing, and gets no row twice', async (t) => {
  for (const fault of ['before', 'after'] as const) {
    const table = freshTable();
    let failures = 2;
    const faulty: FileTable = {
      ...table,
      async insertRows(rows) {
        if (fault === 'after') await table.insertRows(rows);
        if (failures-- > 0) throw new Error(`injected ${fault} the rows were stored`);
        if (fault === 'before') await table.insertRows(rows);
      },
    };
    const log = silentLog();
    const directory = newDirectory();
    const files = await open(directory, { table: faulty, log });
    const early = newFile();
    await files.insert(early, never);
    await t.rejects(files.namesWithRow([early.name], never), { message: /injected/ });
    t.strictSame(await files.findByName(early.name, never), early, 'it is there all the same');
    const late = newFile();
    await files.insert(late, never);
    await files.namesWithRow([late.name], never).catch(() => {});
    t.strictSame(
      await files.namesWithRow([early.name, late.name], never),
      new Set([early.name, late.name]),
      fault,
    );
    for (const { name } of [early, late]) t.equal(await rowsOf(name), 1, fault);
    await files.close();
  }
});

t.test('a name that was never stored costs no statement; one that was is found', async (t) => {
  const table = freshTable();
  const inserted = newFile();
  await table.insert(inserted, never);
  const directory = newDirectory();
  const before = await open(directory);
  const left = newFile();
  await before.insert(left, never);
  // killed: not closed
  const lookups: string[] = [];
  const counted: FileTable = {
    ...table,
    async findByName(name, signal) {
      lookups.push(name);
      return table.findByName(name, signal);
    },
  };
  const log = silentLog();
  const files = await open(directory, { table: counted, log });
  // while the filter is filled in the background
  const early = newFile();
  await files.insert(early, never);
  const isFree = async (): Promise<boolean> => {
    lookups.length = 0;
    t.equal(await files.findByName(newFile().name, never), null);
    return lookups.length === 0;
  };
  while (!(await isFree())) await new Promise((resolve) => setTimeout(resolve, 10));
  const late = newFile();
  await files.insert(late, never);
  for (const state of ['pending', 'in the table']) {
    for (const file of [inserted, left, early, late]) {
      t.strictSame(await files.findByName(file.name, never), file, state);
    }
    await files.namesWithRow([], never);
  }
  t.strictSame(log.failures, []);
  await files.close();
});

t.test('a query of the table sees what was acknowledged before', async (t) => {
  const directory = newDirectory();
  const table = freshTable();
  const files = await LoggedFiles.open({ table, directory, log: silentLog(), flushAfter });
  const [one, two] = [
    newFile({ createdAt: new Date('2031-01-01') }),
    newFile({ createdAt: new Date('2031-01-02') }),
  ];
  await files.insert(one, never);
  t.strictSame(await files.namesWithRow([one.name, two.name], never), new Set([one.name]));
  await files.insert(two, never);
  const made = await files.madeBetween(new Date('2031-01-01'), new Date('2031-02-01'), 10, never);
  t.strictSame(
    made.map(({ name }) => name),
    [two.name, one.name],
  );
  const gone = newFile();
  await files.insert(gone, never);
  await files.remove(gone.name, never);
  t.equal(await files.findByName(gone.name, never), null);
  t.equal(await rowsOf(gone.name), 0);
  await files.close();
});

t.test('rows that wait are limited, and an aborted one is not written', async (t) => {
  const directory = newDirectory();
  const files = await open(directory, { pendingLimit: 1000 });
  const kept = newFile();
  await files.insert(kept, never);
  await files.insert(newFile(), never);
  await t.rejects(files.insert(newFile({ originalName: 'x'.repeat(500) }), never), { code: 'overloaded' });
  const aborted = newFile();
  await t.rejects(files.insert(aborted, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
  t.equal(await files.findByName(aborted.name, never), null);
  t.strictSame(await files.namesWithRow([kept.name, aborted.name], never), new Set([kept.name]));
  await files.insert(newFile(), never);
  await files.close();
});

t.test('a file whose line could not be written is not there', async (t) => {
  const directory = newDirectory();
  const files = await open(directory);
  await rm(directory, { recursive: true });
  const file = newFile();
  await t.rejects(files.insert(file, never), { code: 'ENOENT' });
  t.equal(await files.findByName(file.name, never), null);
  t.strictSame(await files.namesWithRow([file.name], never), new Set());
  await files.close();
});
