/** Deleted files that are kept aside: who sees them, how they come back, and when they are gone. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { CopyUpload } from '#gateway/access/copy-upload.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { ada, eve, serveFiles } from '../services/serve-files.ts';
import { testJanitor } from '../services/test-janitor.ts';

const never = new AbortController().signal;
const day = 24 * 3600 * 1000;

type Answer = Record<string, unknown>;

/** A gateway with a trash, and what is asked of it most. */
async function serveTrash(t: Test, options: Parameters<typeof serveFiles>[1] = {}) {
  const served = await serveFiles(t, { trashDays: 7, quotaFiles: 3, ...options });
  const { ask, upload } = served;
  const store = async (name = 'a.txt', more: Parameters<typeof upload>[1] = {}): Promise<string> => {
    const answer = await upload(name, more);
    t.equal(answer.status, 200, await answer.clone().text());
    return ((await answer.json()) as { name: string }).name;
  };
  const statusOf = async (name: string, init?: RequestInit & { account?: string }): Promise<number> => {
    const answer = await ask(`/_f_/demo/${name}`, init);
    await answer.arrayBuffer();
    return answer.status;
  };
  const namesIn = async (query: string): Promise<{ names: string[]; count: number }> => {
    const answer = await ask(`/_f_/demo?count=true&${query}`);
    t.equal(answer.status, 200, await answer.clone().text());
    const { files, count } = (await answer.json()) as { files: { name: string }[]; count: number };
    return { names: files.map(({ name }) => name), count };
  };
  const restore = async (name: string, account = ada): Promise<{ status: number; body: Answer }> => {
    const answer = await ask(`/_f_/demo/${name}/restore`, { method: 'POST', account });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
  const rowOf = (name: string): Promise<CloudFile | null> => served.cloudFiles.findAny(name, never);
  /** Makes the time in the trash longer. */
  const age = (name: string, milliseconds: number): Promise<void> =>
    served.cloudFiles.change([name], { trashedAt: new Date(Date.now() - milliseconds) }, never);
  const janitor = (now?: () => number) => {
    const { store, cloudFiles, trash, quota } = served;
    const made = testJanitor({ store, cloudFiles, trash, quota, trashDays: 7, ...(now && { now }) });
    t.teardown(() => made.close());
    return made;
  };
  return { ...served, upload, storeFile: store, statusOf, namesIn, restore, rowOf, age, janitor };
}

t.test('a deleted file is in the trash, and comes back', async (t) => {
  const served = await serveTrash(t);
  const { ask, storeFile, statusOf, namesIn, restore } = served;
  const [name, other] = [await storeFile('a.txt', { content: 'hello' }), await storeFile('b.txt')];
  t.equal(await statusOf(name), 200, 'it is in the cache of small files');
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  for (const init of [{}, { method: 'HEAD' }, { method: 'DELETE' }])
    t.equal(await statusOf(name, init), 404, JSON.stringify(init));
  const link = { method: 'POST', body: '{"expiresIn":60}', headers: { 'content-type': 'application/json' } };
  t.equal((await ask(`/_f_/demo/${name}/link`, link)).status, 404);
  t.strictSame(await namesIn(''), { names: [other], count: 1 });
  t.strictSame(await namesIn('trash=true'), { names: [name], count: 1 });
  const listed = (await (await ask('/_f_/demo?trash=true')).json()) as { files: Answer[] };
  t.match(listed.files[0], { trashedAt: /^20/, size: 5 });
  t.equal((await restore(name, eve)).status, 404, 'for another account');
  t.equal((await restore(other)).status, 404, 'not in the trash');
  t.equal((await restore(randomUUID())).status, 404);
  const { status, body } = await restore(name);
  t.match({ status, body }, { status: 200, body: { name, size: 5 } });
  t.equal(body.trashedAt, undefined);
  t.equal(await (await ask(`/_f_/demo/${name}`)).text(), 'hello');
  t.strictSame((await namesIn('order=asc')).names, [name, other]);
  t.strictSame(await namesIn('trash=true'), { names: [], count: 0 });
  t.equal((await restore(name)).status, 404, 'again');
});

t.test('a file that is to go at once is gone, also from the trash', async (t) => {
  const served = await serveTrash(t);
  const { storeFile, statusOf, rowOf, restore, store } = served;
  const [name, direct] = [await storeFile(), await storeFile()];
  const { objectKey } = (await rowOf(name)) as CloudFile;
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  t.equal(await statusOf(`${name}?trash=true`, { method: 'DELETE' }), 404);
  t.ok(await store.head(objectKey, never));
  for (const query of ['trash=', 'trash=no', 'trash=false&trash=false'])
    t.equal(await statusOf(`${name}?${query}`, { method: 'DELETE' }), 400, query);
  t.equal(await statusOf(`${name}?trash=false`, { method: 'DELETE', account: eve }), 404);
  for (const one of [name, direct]) {
    t.equal(await statusOf(`${one}?trash=false`, { method: 'DELETE' }), 204);
    t.equal(await rowOf(one), null);
    t.equal((await restore(one)).status, 404);
  }
  t.equal(await store.head(objectKey, never), null);
});

t.test('many are deleted as one is', async (t) => {
  const { ask, storeFile, namesIn, rowOf } = await serveTrash(t, { quotaFiles: 10 });
  const remove = async (body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await ask('/_f_/demo/_delete_', { method: 'POST', headers, body: JSON.stringify(body) });
    return answer.status === 200 ? answer.json() : answer.status;
  };
  const [a, b, c] = [await storeFile('a'), await storeFile('b'), await storeFile('c')];
  t.match(await remove({ names: [a, b] }), { deleted: 2, failed: [] });
  t.match(await remove({ names: [a, c] }), { deleted: 1, failed: [{ name: a, code: 'not_found' }] });
  t.strictSame(new Set((await namesIn('trash=true')).names), new Set([a, b, c]));
  t.match(await remove({ names: [a, b], trash: false }), { deleted: 2, failed: [] });
  t.equal(await rowOf(a), null);
  t.strictSame((await namesIn('trash=true')).names, [c]);
  t.equal(await remove({ names: [c], trash: 'false' }), 400);
});

t.test('the quota counts the trash until it is emptied', async (t) => {
  const served = await serveTrash(t, { quotaFiles: 1 });
  const { storeFile, statusOf, upload, age, janitor, rowOf, store } = served;
  const name = await storeFile();
  const { objectKey } = (await rowOf(name)) as CloudFile;
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  t.equal((await upload('b.txt')).status, 403);
  t.match(await janitor().run({ dryRun: false }), { filesEmptied: 0, failures: 0 });
  await age(name, 7 * day + 60_000);
  t.match(await janitor().run({ dryRun: true }), { filesEmptied: 1, failures: 0 });
  t.ok(await rowOf(name), 'a dry run deletes nothing');
  t.match(await janitor().run({ dryRun: false }), { filesEmptied: 1, filesExpired: 0, failures: 0 });
  t.equal(await rowOf(name), null);
  t.equal(await store.head(objectKey, never), null);
  t.equal((await upload('b.txt')).status, 200);
});

t.test('a clock that is wrong empties nothing too early', async (t) => {
  const { storeFile, statusOf, age, janitor, rowOf, restore } = await serveTrash(t);
  const name = await storeFile();
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  const year = 365 * day;
  t.match(
    await janitor(() => Date.now() + year).run({ dryRun: false }),
    { filesEmptied: 0 },
    'ours is ahead',
  );
  await age(name, 8 * day);
  t.match(
    await janitor(() => Date.now() - year).run({ dryRun: false }),
    { filesEmptied: 0 },
    'ours is behind',
  );
  // it was deleted while the clock was ahead
  await age(name, -year);
  t.match(await janitor().run({ dryRun: false }), { filesEmptied: 0 });
  t.ok(await rowOf(name));
  t.equal((await restore(name)).status, 200);
});

t.test('two restores at once, and restores beside deletions', async (t) => {
  const { storeFile, statusOf, restore, namesIn } = await serveTrash(t);
  const name = await storeFile();
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  const statuses = (await Promise.all([restore(name), restore(name)])).map(({ status }) => status);
  t.ok(statuses.includes(200), `${statuses}`);
  t.ok(statuses.every((status) => status === 200 || status === 404));
  t.equal(await statusOf(name), 200);
  for (let round = 0; round < 5; round++) {
    await Promise.all([statusOf(name, { method: 'DELETE' }), restore(name), restore(name)]);
    const isThere = (await statusOf(name)) === 200;
    t.strictSame((await namesIn('')).names, isThere ? [name] : [], `${round}: the list agrees`);
    t.strictSame((await namesIn('trash=true')).names, isThere ? [] : [name]);
    if (!isThere) t.equal((await restore(name)).status, 200);
  }
});

t.test('a restore waits for the janitor that empties the trash', async (t) => {
  let goOn: () => void = () => {};
  let begun: () => void = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const served = await serveTrash(t, {
    over: (store) => ({
      ...store,
      async deleteAll(keys, signal) {
        begun();
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        return store.deleteAll(keys, signal);
      },
    }),
  });
  const { storeFile, statusOf, age, janitor, restore, rowOf } = served;
  const name = await storeFile();
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  await age(name, 8 * day);
  const run = janitor().run({ dryRun: false });
  await hasBegun;
  const restored = restore(name);
  goOn();
  t.match(await run, { filesEmptied: 1, failures: 0 });
  t.equal((await restored).status, 404, 'it is not brought back without its bytes');
  t.equal(await rowOf(name), null);
});

t.test('the janitor leaves a file that is restored before it is marked', async (t) => {
  const served = await serveTrash(t);
  const { storeFile, statusOf, age, restore, rowOf, cloudFiles, trash, store, quota } = served;
  const name = await storeFile();
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  await age(name, 8 * day);
  const janitor = testJanitor({
    ...{ store, cloudFiles, quota, trashDays: 7 },
    trash: {
      async emptying(files, work, signal) {
        t.equal((await restore(name)).status, 200);
        await trash.emptying(files, work, signal);
      },
    },
  });
  t.teardown(() => janitor.close());
  t.match(await janitor.run({ dryRun: false }), { filesEmptied: 0, failures: 0 });
  t.match(await rowOf(name), { trashedAt: undefined });
  t.equal(await statusOf(name), 200);
});

t.test('a file whose object is gone is not restored', async (t) => {
  const { storeFile, statusOf, restore, rowOf, store } = await serveTrash(t);
  const name = await storeFile();
  const { objectKey } = (await rowOf(name)) as CloudFile;
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  await store.delete(objectKey, never);
  t.equal((await restore(name)).status, 404);
  t.match(await rowOf(name), { trashedAt: Date }, 'the janitor removes its row');
});

t.test('a key and a copy of a file in the trash', async (t) => {
  const { ask, statusOf, rowOf, restore, cloudFiles } = await serveTrash(t);
  const put = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await ask(path, { method: 'PUT', body: 'x', headers });
    return { status: answer.status, body: (await answer.json()) as { name: string; error: string[] } };
  };
  const key = { 'idempotency-key': '"once"' };
  const first = (await put('/_f_/demo/a.txt', key)).body.name;
  t.equal(await statusOf(first, { method: 'DELETE' }), 204);
  const second = (await put('/_f_/demo/a.txt', key)).body.name;
  t.not(second, first, 'what was deleted can be uploaded again with its key');
  const copy = new CopyUpload(cloudFiles, (await rowOf(first)) as CloudFile);
  await t.rejects(copy.earlier(never), { code: 'upload_conflict', message: /in the trash/ });
  t.equal((await restore(first)).status, 200);
});

t.test('without TRASH_DAYS a deletion is final, and what is in the trash is emptied', async (t) => {
  const { storeFile, statusOf, restore, rowOf } = await serveTrash(t, { trashDays: 0 });
  const name = await storeFile();
  t.equal(await statusOf(name, { method: 'DELETE' }), 204);
  t.equal(await rowOf(name), null);
  t.equal((await restore(name)).status, 404);
});
