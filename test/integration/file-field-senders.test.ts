/** Fields with files against users: nobody gets at, or gets rid of, a file that the rules do not give him. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type Call, openRuledFiles, ownRules } from '../services/ruled-files.ts';

const { ask, asOwner, owned, tokenOf, setRules, ada, bob, page, acting } = await openRuledFiles(t);
const structure = structureOf('app', 'posts', [
  { name: 'author', type: 'TEXT' },
  { name: 'photo', type: 'FILE' },
  { name: 'album', type: 'FILE', many: true },
]);
await owned({ path: '/app/posts/set-structure', body: JSON.parse(structure) });
const own = { author: '$user.id' };
await owned({
  method: 'PUT',
  path: '/_projects_/app/spaces/posts/rules',
  body: { users: 'users', find: true, insert: own, update: own, delete: own, set: { author: '$user.id' } },
});
const stored = { 'use-pre-stored-structure': 'true' };
type User = typeof ada;

async function upload(user?: User, project = 'app', headers = {}) {
  const call = { method: 'PUT', path: `/_f_/${project}/a.png`, bytes: 'x' };
  const sender = user === undefined ? {} : acting(user);
  return (await owned({ ...call, headers: { 'content-type': 'image/png', ...sender, ...headers } })).json();
}
const as = (user: User | undefined, call: Call) =>
  ask({ ...call, headers: { ...page(user), origin: 'https://app.example.com', ...stored, ...call.headers } });
const insert = (user: User | undefined, body: unknown) => as(user, { path: '/app/posts/_single_', body });
const remove = (user: User, id: string) => as(user, { method: 'DELETE', path: `/app/posts?id=${id}` });
const isThere = async (name: string): Promise<boolean> => {
  const { files } = (await owned({ path: '/_f_/app?limit=200' })).json();
  return files.some((file: { name: string }) => file.name === name);
};

t.test("another user's file is like none", async (t: Test) => {
  const [hers, his] = [await upload(ada), await upload(bob)];
  const anothers = await upload(undefined, 'app2');
  const otherAccount = await tokenOf('--user', 'other@x.io', '--create-user');
  const foreign = await upload(undefined, 'app', { authorization: `Bearer ${otherAccount}` });
  const missing = { name: `${randomUUID()}_a.png` };
  const mine = (await insert(bob, { photo: his.name })).json();
  t.match(mine, {
    author: bob.id,
    photo: { name: his.name, s3Link: his.s3Link, contentType: 'image/png', size: 1 },
  });
  const answers = new Set<string>();
  for (const { name } of [hers, anothers, foreign, missing, await upload()])
    for (const user of [bob, undefined]) {
      if (user === undefined) {
        t.equal((await insert(user, { photo: name })).status, 403);
        continue;
      }
      const attempts = [
        await insert(user, { photo: name }),
        await insert(user, { album: [his.name, name] }),
        await as(user, { path: `/app/posts/update-by-id?id=${mine.id}`, body: { photo: name } }),
        await as(user, { path: `/app/posts/update?id=${mine.id}`, body: { album: [name] } }),
        await as(user, { path: '/app/posts/_update_', body: { all: true, set: { photo: name } } }),
        await as(user, { path: `/app/posts?photo=${name}` }),
      ];
      t.strictSame(
        attempts.map(({ status }) => status),
        [400, 400, 400, 400, 400, 200],
      );
      t.equal(attempts.at(-1)?.text, '[]');
      answers.add(
        attempts.map(({ text }) => text.replace(/"(?:path|timestamp|requestId)":"[^"]*"/g, '')).join(),
      );
    }
  t.equal(answers.size, 1, 'no answer tells one from another');
  t.strictSame((await as(bob, { path: '/app/posts' })).json(), [mine]);
  t.equal((await insert(ada, { photo: hers.name })).status, 200);
});

t.test('without rules of files, nobody whom rules bind names a file', async (t: Test) => {
  const his = await upload(bob);
  await setRules(null);
  t.match(await insert(bob, { photo: his.name }), { status: 400, text: /no such file/ });
  await setRules(ownRules);
  t.equal((await insert(bob, { photo: his.name })).status, 200);
});

t.test('who may only read a file does not end it by a record', async (t: Test) => {
  await setRules({ ...ownRules, read: true });
  const hers = await upload(ada);
  const his = (await insert(bob, { photo: hers.name })).json();
  t.match(await owned({ path: `/app/posts?id=${his.id}`, headers: stored }), { status: 200 });
  t.equal((await remove(bob, his.id)).status, 200);
  // a file of his own that goes: whatever was dropped before it has been worked off
  const goes = async () => {
    const file = await upload(bob);
    const { id } = (await insert(bob, { album: [file.name] })).json();
    await remove(bob, id);
    await eventuallyEqual(t, () => isThere(file.name), false);
  };
  await goes();
  t.ok(await isThere(hers.name), 'she never gave it to a record');
  const one = (await insert(ada, { photo: hers.name })).json();
  const two = (await insert(bob, { photo: hers.name })).json();
  await remove(ada, one.id);
  await goes();
  t.ok(await isThere(hers.name), 'kept, as another record names it');
  await remove(bob, two.id);
  await eventuallyEqual(t, () => isThere(hers.name), false, 'she let it go');
  await setRules(ownRules);
});

t.test('a file that a record names is not deleted', async (t: Test) => {
  const [used, free] = [await upload(ada), await upload(ada)];
  const { id } = (await insert(ada, { album: [used.name] })).json();
  const refused = await ask({ method: 'DELETE', path: `/_f_/app/${used.name}`, headers: acting(ada) });
  t.match([refused.status, refused.json().code], [409, 'file_in_use']);
  t.notMatch(refused.text, id);
  t.equal((await ask({ method: 'DELETE', path: `/_f_/app/${used.name}`, headers: page(bob) })).status, 404);
  const names = [used.name, free.name];
  const many = await ask({ path: '/_f_/app/_delete_', body: { names }, headers: acting(ada) });
  t.match(many.json(), { deleted: 1, failed: [{ name: used.name, code: 'file_in_use' }] });
  t.strictSame([await isThere(used.name), await isThere(free.name)], [true, false]);
  await remove(ada, id);
  await eventuallyEqual(t, () => isThere(used.name), false);
  t.match(await insert(ada, { photo: free.name }), { status: 400, text: /no such file/ });
});

t.test('a user of another space has no files of a user with the same id', async (t: Test) => {
  const backup = { authorization: `Bearer ${await tokenOf('--may', 'structure,insert,backup,find')}` };
  const staff = JSON.parse(structureOf('app', 'staff', fieldsOf('name TEXT unique, password TEXT hashed')));
  await owned({ path: '/app/staff/set-structure', body: staff });
  const type = { 'content-type': 'application/x-ndjson' };
  const bytes = JSON.stringify({ id: ada.id, name: 'eve', password: 'right' });
  await owned({ path: '/app/staff/_import_?keep=id', bytes, headers: { ...backup, ...type } });
  const resources = JSON.stringify({ mustExistSpaceStructures: [staff] });
  const logIn = () =>
    ask({
      path: '/app/function/login',
      body: { name: 'eve', password: 'right' },
      headers: { ...asOwner, 'function-resources': resources },
    });
  await eventuallyEqual(t, async () => (await logIn()).status, 200);
  const { token } = (await logIn()).json();
  const memos = structureOf('app', 'memos', [{ name: 'photo', type: 'FILE' }]);
  await owned({ path: '/app/memos/set-structure', body: JSON.parse(memos) });
  const body = { users: 'staff', find: true, insert: { id: { exists: true } }, delete: true };
  await owned({ method: 'PUT', path: '/_projects_/app/spaces/memos/rules', body });
  const hers = await upload(ada);
  const eve = { id: ada.id, token };
  const named = await as(eve, { path: '/app/memos/_single_', body: { photo: hers.name } });
  t.match(named, { status: 400, text: /no such file/ });
  t.equal((await ask({ path: `/_f_/app/${hers.name}`, headers: page(eve) })).status, 401);
  t.ok(await isThere(hers.name));
});
