/** Logins of sluice-client, and rules, as an application in a page has them. */
import t from 'tap';
import { type Client, connect, SluiceError } from '#client/client.ts';
import { listFiles } from '#client/files.ts';
import { find } from '#client/find.ts';
import { login, logout, me, refresh } from '#client/login.ts';
import { getRules, setRules } from '#client/rules.ts';
import { space, text } from '#client/space.ts';
import { upload } from '#client/upload.ts';
import { insert, setStructure } from '#client/write.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { FILE_LINKS: 'private' } });
const owner = connect({ url: sluice.baseUrl, token: sluice.token, project: 'wall' });
const users = space('users', {
  name: text({ required: true, unique: true }),
  password: text({ required: true, hashed: true }),
});
const notes = space('notes', { text: text(), owner: text() });
const { stdout } = await runToEnd('cli/token.ts', ['--publishable', '--origin', '*'], {
  DATA_DIR: sluice.dataDir,
});
const publishable = stdout.trim();
/** A client of a page, and who is logged in there. */
function openPage(): { db: Client; session: { token?: string | undefined } } {
  const session: { token?: string | undefined } = {};
  const user = async () => session.token;
  return { db: connect({ url: sluice.baseUrl, token: publishable, project: 'wall', user }), session };
}
const refused = async (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: unknown) => {
      if (!(error instanceof SluiceError)) throw error;
      return error.status;
    },
  );

t.test('rules of records and of files', async (t) => {
  await setStructure(owner, users);
  await setStructure(owner, notes);
  const own = { owner: '$user.id' };
  t.match(await setRules(owner, users, { find: { id: '$user.id' }, insert: true }), {
    rules: { insert: true },
    warnings: [/Everybody can insert/],
  });
  await setRules(owner, notes, { find: own, insert: own, set: own });
  t.match(await getRules(owner, notes), { rules: { set: own }, stranger: { find: 'none' } });
  await setRules(owner, 'files', { upload: own, read: own, list: own, maxBytes: 1000 });
  t.match(await getRules(owner, 'files'), { rules: { maxBytes: 1000 }, stranger: { upload: 'none' } });
  t.equal(await refused(setRules(openPage().db, 'files', null)), 403, 'not by a page');
  await setRules(owner, space('gone', {}), null).catch(() => {});
  await t.rejects(setRules(owner, notes, { find: { nothing: 1 } }), { code: 'invalid_rules' });
});

t.test('a page follows its user', async (t) => {
  const { db, session } = openPage();
  t.equal(await me(db, users), null, 'nobody, without a request');
  const ada = await insert(db, users, { name: 'ada', password: 'right' });
  await t.rejects(login(db, users, { name: 'ada', password: 'wrong' }), { code: 'unauthorized' });
  session.token = (await login(db, users, { name: 'ada', password: 'right' })).token;
  t.match(await me(db, users), { id: ada.id, name: 'ada' });
  t.match(await insert(db, notes, { text: 'hers' }), { owner: ada.id });
  await upload(db, 'hello', { name: 'hers.txt' });
  t.equal(await refused(refresh(db, users)), 403, 'until the space sets a bound');
  await setStructure(owner, users, { authOptions: { active: false, sessionSeconds: 3600 } });
  const renewed = await refresh(db, users);
  t.match(renewed.user, { id: ada.id, name: 'ada' });
  const before = session.token;
  session.token = renewed.token;
  t.equal((await find(db, notes)).length, 1);
  await logout(db, users);
  for (const token of [before, renewed.token]) {
    session.token = token;
    t.equal(await refused(Promise.resolve(find(db, notes))), 401);
    t.equal(await refused(me(db, users)), 401);
    t.equal(await refused(upload(db, 'x', { name: 'x.txt' })), 401, 'nor for files');
    t.equal(await refused(listFiles(db).next()), 401);
    await logout(db, users);
  }
  session.token = undefined;
  t.equal(await refused(logout(db, users)), 200, 'nobody is logged in');
  t.equal(await refused(logout(connect({ ...db, project: 'none' }), users)), 403);
});
