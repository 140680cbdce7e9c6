/** Files that are kept, but not shown: in the trash, expired, or held back by a scanner. */
import t from 'tap';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { LoggedFiles } from '#gateway/catalogue/logged-files.ts';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const never = new AbortController().signal;

t.test('what is hidden is found by those alone who ask for it', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const table = createCloudFiles({ db, database, singleWriter: true });
  const directory = await temporaryFolder(t);
  const files = await LoggedFiles.open({ table, directory, log: silentLog() });
  t.teardown(() => files.close());
  const soon = new Date(Date.now() + 3_600_000);
  const folder = '01890a5d-ac96-774b-bcce-b302099a8057';
  const kept = newFile({ folder, path: 'a/b.ts', width: 640, height: 480, duration: 1.5, expiresAt: soon });
  const expired = newFile({ ownerId: kept.ownerId, expiresAt: new Date(Date.now() - 1) });
  const checking = newFile({ ownerId: kept.ownerId, state: 'checking' });
  for (const file of [kept, expired, checking]) await files.insert(file, never);
  const query = { ownerId: kept.ownerId, projectSlug: kept.projectSlug, limit: 10 };
  const listed = async (more: object = {}) =>
    (await files.list({ ...query, ...more }, never)).map(({ name }) => name);
  const found = async (file: { name: string }) => [
    await files.findByName(file.name, never),
    await files.findAny(file.name, never),
  ];

  for (const when of ['in the log', 'in the table']) {
    t.strictSame(await found(kept), [kept, kept], when);
    t.strictSame(await found(expired), [null, expired], when);
    t.strictSame(await found(checking), [null, checking], when);
    t.strictSame(await listed(), [kept.name]);
  }
  t.equal(await files.count(query, never), 1);
  t.strictSame(await listed({ hidden: 'checking' }), [checking.name]);
  t.strictSame(await listed({ folder }), [kept.name]);
  t.strictSame(await listed({ folder: expired.id }), []);

  const trashedAt = new Date();
  await files.change([kept.name, 'no such file'], { trashedAt }, never);
  await files.change([checking.name], { state: 'refused' }, never);
  t.strictSame(await found(kept), [null, { ...kept, trashedAt }]);
  t.strictSame(await listed(), []);
  t.strictSame(await listed({ hidden: 'trashed' }), [kept.name]);
  t.strictSame(await listed({ hidden: 'refused' }), [checking.name]);
  t.match(await files.usedBy(kept.ownerId, never), { files: 3 });

  await files.change([kept.name], { trashedAt: null }, never);
  await files.change([checking.name], { state: null }, never);
  t.strictSame(await found(kept), [kept, kept]);
  t.strictSame((await listed()).sort(), [kept.name, checking.name].sort());
});

t.test(
  'a change that is cut off between its two tables leaves no file that is shown and not listed',
  async (t) => {
    const { db, database } = await openMigratedChdb(t);
    const whole = createCloudFiles({ db, database });
    const faulty = new FaultyDatabase();
    const cut = createCloudFiles({ db: faulty.wrap(db), database });
    const file = newFile();
    await whole.insert(file, never);
    const query = { ownerId: file.ownerId, projectSlug: file.projectSlug, limit: 10 };
    const listed = async (hidden?: 'trashed') =>
      (await createCloudFiles({ db, database }).list({ ...query, hidden }, never)).map(({ name }) => name);
    const isShown = async () =>
      (await createCloudFiles({ db, database }).findByName(file.name, never)) !== null;
    for (const table of ['cloud_files', 'file_list']) {
      faulty.fails = (statement) => statement.verb === 'UPDATE' && statement.table === table;
      await t.rejects(cut.change([file.name], { trashedAt: new Date() }, never), table);
      const trashed = table === 'file_list';
      t.equal(await isShown(), !trashed);
      t.strictSame(await listed(), trashed ? [] : [file.name]);
      t.strictSame(await listed('trashed'), trashed ? [file.name] : []);
    }
    for (const table of ['file_list', 'cloud_files']) {
      faulty.fails = (statement) => statement.verb === 'UPDATE' && statement.table === table;
      await t.rejects(cut.change([file.name], { trashedAt: null }, never), table);
      t.equal(await isShown(), false);
      t.strictSame(await listed('trashed'), [file.name], 'a restore can be repeated');
    }
    faulty.fails = () => false;
    await cut.change([file.name], { trashedAt: null }, never);
    t.strictSame([await isShown(), await listed(), await listed('trashed')], [true, [file.name], []]);
  },
);
