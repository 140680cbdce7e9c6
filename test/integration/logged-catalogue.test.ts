/** Versions of spaces that are in the write-ahead log: until the table has them, and after a process has died. */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { CatalogueEntry } from '#query/space/catalogue-entry.ts';
import { LoggedCatalogue } from '#query/space/logged-catalogue.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { storedStructure } from '../services/stored-structure.ts';

const { db, folder, database } = await openMigratedChdb(t);
const table = new TableCatalogue({ db, database });
const signal = new AbortController().signal;
/** Nothing comes into the table by itself while a test runs. */
const never = { flushAfter: 3_600_000, retryAfter: 3_600_000 };

let directories = 0;
const newDirectory = (): string => join(folder, `wal-${++directories}`);
const open = (directory: string, other = db, log = silentLog()) =>
  LoggedCatalogue.open({ db: other, database, directory, log, times: never });

function entry(more: Partial<CatalogueEntry> = {}): CatalogueEntry {
  const now = new Date();
  const id = randomUUID();
  return {
    id,
    recordsId: id,
    ownerId: randomUUID(),
    projectId: randomUUID(),
    structure: storedStructure(fieldsOf('a TEXT')),
    version: 1,
    initialRecords: '',
    store: 0,
    leftRecords: '',
    rules: '',
    createdAt: now,
    updatedAt: now,
    ...more,
  };
}

t.test('a version is known before the table has it, and the newest counts', async (t) => {
  const catalogue = await open(newDirectory());
  const first = entry();
  t.equal(await catalogue.find(first.id, signal), null);
  t.equal(await catalogue.store(first, signal), true);
  const second = { ...first, version: 2, structure: storedStructure(fieldsOf('b NUMBER')) };
  await catalogue.store(second, signal);
  t.equal(await catalogue.find(first.id, signal), second);
  t.equal(await table.find(first.id, signal), null, 'not there yet');
  t.notOk(await catalogue.isEmpty(signal));
  t.equal(await catalogue.countOfOwner(first.ownerId, signal), 1);
  t.match(await catalogue.idsOfProject(first.projectId, signal), [{ id: first.id }]);
  t.match(await table.find(first.id, signal), { version: 2, structure: { fields: [{ name: 'b' }] } });
  t.match(await catalogue.find(first.id, signal), { version: 2 });
  await catalogue.close();
});

t.test('a process that was killed before the first line was whole leaves nothing to store', async (t) => {
  const directory = newDirectory();
  await mkdir(directory);
  await writeFile(join(directory, '1.wal'), '');
  await writeFile(join(directory, '2.wal'), '0123abcd {"id":');
  const catalogue = await open(directory);
  t.strictSame(await readdir(directory), ['2.damaged'], 'what was begun is kept aside');
  const first = entry();
  await catalogue.store(first, signal);
  await catalogue.close();
  t.match(await table.find(first.id, signal), { version: 1 });
});

t.test('what a killed process left is in the table before anybody asks', async (t) => {
  const directory = newDirectory();
  const killed = await open(directory);
  const spaces = [entry(), entry()];
  for (const space of spaces) await killed.store(space, signal);
  const next = await open(directory);
  for (const { id } of spaces) t.match(await next.find(id, signal), { version: 1 });
  t.equal(await table.countOfOwner(spaces[0]?.ownerId as string, signal), 1);
  t.strictSame(await readdir(directory), []);
  await next.close();
});

t.test('a table that does not take them loses none', async (t) => {
  const faulty = new FaultyDatabase();
  faulty.losesAnswer = ({ verb }) => verb === 'INSERT';
  const log = silentLog();
  const catalogue = await open(newDirectory(), faulty.wrap(db), log);
  const space = entry();
  await catalogue.store(space, signal);
  await t.rejects(catalogue.settled(signal), { message: 'the answer is lost' });
  t.equal(await catalogue.find(space.id, signal), space);
  faulty.losesAnswer = () => false;
  await catalogue.settled(signal);
  t.equal(await catalogue.countOfOwner(space.ownerId, signal), 1, 'twice in the table counts once');
  t.match(await catalogue.find(space.id, signal), { version: 1 });
  t.match(log.failures.join(), /record spaces wait in their write-ahead log/);
  await catalogue.close();
});

t.test('names that are not well formed do not stop the others', async (t) => {
  const catalogue = await open(newDirectory());
  const { structure } = entry();
  const odd = entry({ structure: { ...structure, name: 'half \ud800', description: '\udfff' } });
  const other = entry();
  await catalogue.store(odd, signal);
  await catalogue.store(other, signal);
  await catalogue.settled(signal);
  t.match(await table.find(odd.id, signal), { structure: { name: 'half \ud800' } });
  t.ok(await table.find(other.id, signal));
  await catalogue.close();
});

t.test('a space that never was is known without a look into the table', async (t) => {
  const directory = newDirectory();
  const before = await open(directory);
  const [stored, dropped, left] = [entry(), entry(), entry()];
  for (const space of [stored, dropped]) await before.store(space, signal);
  await before.settled(signal);
  await before.drop(dropped, signal);
  // the process is killed with this one in its log
  await before.store(left, signal);

  const { asked, wrap } = new FaultyDatabase();
  const next = await open(directory, wrap(db));
  // the filter is filled in the background
  const isNew = async (): Promise<boolean> => {
    asked.length = 0;
    const { entry: found, version } = await next.findVersioned(randomUUID(), signal);
    t.equal(found, null);
    t.equal(version, 0);
    return asked.length === 0;
  };
  while (!(await isNew())) await new Promise((resolve) => setTimeout(resolve, 10));

  for (const space of [stored, left]) t.match(await next.find(space.id, signal), { version: 1 });
  const { entry: none, version } = await next.findVersioned(dropped.id, signal);
  t.equal(none, null);
  t.ok(version > 1, 'a dropped one is looked up: its version goes on');
  const later = entry();
  await next.store(later, signal);
  t.equal(await next.find(later.id, signal), later);
  await next.settled(signal);
  t.match(await next.find(later.id, signal), { version: 1 });
  await next.close();
});
