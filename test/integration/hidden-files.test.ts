/** Files that are kept, but not shown: in the trash, expired, or held back by a scanner. */
import t from 'tap';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { LoggedFiles } from '#gateway/catalogue/logged-files.ts';
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
