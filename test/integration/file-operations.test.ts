/** Lists of files, and their deletion: exact with rows that are in the write-ahead log alone, and for one account alone. */
import t from 'tap';
import { testDeployment } from '../services/new-file.ts';
import { ada, eve, serveFiles } from '../services/serve-files.ts';
import { testJanitor } from '../services/test-janitor.ts';

const never = new AbortController().signal;

interface Listed {
  readonly files: readonly Record<string, unknown>[];
  readonly next: string | null;
  readonly count?: number;
}

t.test('files are listed newest first, page by page, and by what is asked for', async (t) => {
  const { ask, upload, cloudFiles } = await serveFiles(t);
  const list = async (query: string, account?: string): Promise<Listed> => {
    const answer = await ask(`/_f_/demo?${query}`, account === undefined ? {} : { account });
    t.equal(answer.status, 200, query);
    return (await answer.json()) as Listed;
  };
  t.equal((await ask('/_f_/demo')).status, 404, 'there is no such project yet');
  const uploaded: Record<string, unknown>[] = [];
  const kinds = ['image/png', 'text/plain', 'image/jpeg'];
  for (let i = 0; i < 7; i++) {
    const answer = await upload(`${i % 2 === 0 ? 'Größe' : "it's \\ 100%"}-${i}`, {
      type: kinds[i % 3] as string,
      content: 'x'.repeat(i),
    });
    uploaded.unshift((await answer.json()) as Record<string, unknown>);
  }
  await upload('of another project', { project: 'other' });
  await upload('of another account', { account: eve });

  const whole = await list('');
  t.equal(whole.next, null);
  t.strictSame(
    whole.files,
    // of one millisecond the ids decide
    [...uploaded].sort((a, b) => (`${a.createdAt}${a._id}` < `${b.createdAt}${b._id}` ? 1 : -1)),
  );
  t.strictSame(new Set(whole.files.map(({ size }) => size)), new Set([0, 1, 2, 3, 4, 5, 6]));
  const names = (page: Listed): unknown[] => page.files.map(({ name }) => name);
  for (const limit of [1, 2, 3, 6, 7, 8]) {
    for (const order of ['', '&order=asc', '&sort=name', '&sort=name&order=asc']) {
      const seen: unknown[] = [];
      let page = await list(`limit=${limit}${order}`);
      seen.push(...names(page));
      while (page.next !== null) {
        page = await list(`limit=${limit}${order}&after=${encodeURIComponent(page.next)}`);
        t.ok(page.files.length > 0, 'there is no empty page behind a next');
        seen.push(...names(page));
      }
      t.strictSame(seen, names(await list(order.slice(1))), `by ${limit}${order}`);
    }
  }
  t.strictSame(names(await list('order=asc')).reverse(), names(whole));
  t.strictSame(
    (await list('sort=name&order=asc')).files.map(({ originalName }) => originalName),
    uploaded
      .map(({ originalName }) => String(originalName))
      .sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
  );
  t.match(await list('count=true&limit=2'), { count: 7 });
  t.match(await list('count=true&limit=2&type=image/&sort=name'), { count: 5 });
  t.notOk('count' in whole, 'nothing is counted that nobody asks for');
  t.equal((await list('type=image/')).files.length, 5);
  t.equal((await list('type=image/png')).files.length, 3);
  t.equal((await list('type=image/pn')).files.length, 0);
  t.equal((await list(`name=${encodeURIComponent('GRÖSSE')}`)).files.length, 0);
  t.equal((await list(`name=${encodeURIComponent('gRÖße')}`)).files.length, 4);
  t.equal((await list(`name=${encodeURIComponent("'S \\ 100%")}`)).files.length, 3);
  t.equal((await list('name=%25')).files.length, 3, 'nothing in a name is a wildcard');
  const newest = whole.files[0]?.createdAt as string;
  t.equal((await list(`from=${newest}`)).files.length >= 1, true);
  t.equal((await list(`to=${newest}`)).files.length, 7);
  const times = whole.files.map(({ createdAt }) => createdAt as string);
  for (const time of times) {
    const between = time.replace('Z', '400000Z');
    const later = times.filter((one) => one > time).length;
    t.equal((await list(`from=${between}`)).files.length, later, 'a time between two milliseconds');
    t.equal((await list(`to=${between}`)).files.length, 7 - later);
    t.equal((await list(`from=${time.replace('Z', '000Z')}&to=${time}`)).files.length > 0, true);
  }
  t.equal((await list(`from=${newest.slice(0, 10)}&to=${newest.slice(0, 10)}`)).files.length, 7);
  t.equal((await list('to=2001-01-01')).files.length, 0);
  t.equal((await list('', eve)).files.length, 1, 'an account sees its own');
  t.equal((await ask('/_f_/other', { account: eve })).status, 404);
  t.ok(await cloudFiles.findByName(uploaded[0]?.name as string, never));

  for (const query of [
    ...'limit=0 limit=201 limit=1&limit=2 limit=x after=x'.split(' '),
    ...'after=2026-13-45T00:00:00.000Z_00000000-0000-0000-0000-000000000000 name='.split(' '),
    `name=${'x'.repeat(201)}`,
    ...'type=image type=*/* type= from=yesterday from=2026-02-30 to=2026-11-22T25:00:00Z'.split(' '),
    ...'colour=red sort=size order=down count=1'.split(' '),
    // what goes on in the order of time
    `sort=name&after=${(await list('limit=1')).next}`,
    `after=${(await list('limit=1&sort=name')).next}`,
  ]) {
    const answer = await ask(`/_f_/demo?${query}`);
    t.equal(answer.status, 400, query);
    t.match(await answer.json(), { code: 'invalid_condition' });
  }
  t.equal((await ask('/_f_/demo', { account: 'nobody' })).status, 401);
  t.equal((await ask('/_f_/-bad')).status, 400);
});

t.test('a deleted file is nowhere any more', async (t) => {
  const { ask, upload, cloudFiles, store, db, database, log } = await serveFiles(t, { quotaFiles: 2 });
  const file = (await (await upload('a.txt')).json()) as { name: string };
  await upload('b.txt');
  t.equal((await upload('c.txt')).status, 403, 'the account has all the files that it may have');
  const path = `/_f_/demo/${file.name}`;
  const { objectKey } = (await cloudFiles.findByName(file.name, never)) ?? { objectKey: '' };
  t.equal((await ask(path, { method: 'DELETE', account: eve })).status, 404, 'it is not theirs');
  t.equal((await ask(`/_f_/other/${file.name}`, { method: 'DELETE' })).status, 404, 'it is not there');
  t.equal((await ask(path)).status, 200);

  // its row is in the write-ahead log alone
  t.equal((await ask(path, { method: 'DELETE' })).status, 204);
  for (const method of ['GET', 'HEAD', 'DELETE']) t.equal((await ask(path, { method })).status, 404, method);
  t.equal((await ask(`${path}/link`, { method: 'POST', body: '{"expiresIn":5}' })).status, 404);
  t.equal(await store.head(objectKey, never), null);
  t.strictSame(
    await db.rows({ sql: `SELECT 1 FROM ${database}.cloud_files WHERE name = '${file.name}'` }),
    [],
  );
  const { files } = (await (await ask('/_f_/demo')).json()) as Listed;
  t.strictSame(
    files.map(({ originalName }) => originalName),
    ['b.txt'],
  );
  t.equal((await upload('c.txt')).status, 200, 'there is room again at once');
  for (const name of ['nothing', 'upload', `${file.name}x`, '%2e%2e']) {
    const { status } = await ask(`/_f_/demo/${name}`, { method: 'DELETE' });
    t.ok(status === 404 || status === 405, `${name}: ${status}`);
  }
  t.strictSame(log.failures, []);
});

t.test('of many deletions at once one says that it did it, or each; nothing is left', async (t) => {
  const { ask, upload, store } = await serveFiles(t, { flushAfter: 5 });
  const files = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => (await (await upload(`${i}`)).json()) as { name: string }),
  );
  const statuses = await Promise.all(
    [...files, ...files].map(
      async ({ name }) => (await ask(`/_f_/demo/${name}`, { method: 'DELETE' })).status,
    ),
  );
  t.ok(statuses.every((status) => status === 204 || status === 404));
  t.ok(statuses.filter((status) => status === 204).length >= files.length);
  t.strictSame(((await (await ask('/_f_/demo')).json()) as Listed).files, []);
  const left: string[] = [];
  for await (const { key } of store.list('', never)) left.push(key);
  t.strictSame(left, []);
});

t.test('files were deleted by a request each: one deletes many, and says what it left', async (t) => {
  const { ask, upload, cloudFiles, db, database } = await serveFiles(t, { quotaFiles: 9 });
  const files = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => (await (await upload(`${i}`)).json()) as { name: string }),
  );
  const [kept, ...doomed] = files.map(({ name }) => name) as [string, ...string[]];
  const theirs = (await (await upload('theirs', { account: eve })).json()) as { name: string };
  const remove = async (names: unknown, { project = 'demo', account = ada } = {}) => {
    const body = JSON.stringify({ names });
    const answer = await ask(`/_f_/${project}/_delete_`, { method: 'POST', body, account });
    return { status: answer.status, body: await answer.json() };
  };
  const missing = (name: string) => ({ name, code: 'not_found' });
  t.match(await remove([kept], { account: eve }), {
    status: 200,
    body: { deleted: 0, failed: [missing(kept)] },
  });
  t.match(await remove([kept], { project: 'other' }), { body: { deleted: 0, failed: [missing(kept)] } });
  t.strictSame(((await (await ask('/_f_/demo')).json()) as Listed).files.length, 8, 'nothing was theirs');

  const { body } = await remove([...doomed, theirs.name, 'never/../there', doomed[0]]);
  t.match(body, { deleted: 7, failed: [missing(theirs.name), missing('never/../there')] });
  const { files: left } = (await (await ask('/_f_/demo')).json()) as Listed;
  t.match(left, [{ name: kept }]);
  t.equal((await ask(`/_f_/demo/${doomed[0]}`)).status, 404);
  t.equal((await ask(`/_f_/demo/${theirs.name}`, { account: eve })).status, 200);
  const among = files.map(({ name }) => `'${name}'`).join();
  const sql = `SELECT name FROM ${database}.cloud_files WHERE name IN (${among})`;
  t.strictSame(await db.rows({ sql }), [{ name: kept }]);
  t.equal((await upload('more')).status, 200, 'there is room again at once');
  t.match(await remove(doomed), { body: { deleted: 0, failed: { length: 7 } } });

  for (const names of [undefined, null, [], 'x', [1], [kept, null], { 0: kept }, Array(1001).fill(kept)]) {
    t.match(await remove(names), { status: 400, body: { code: 'invalid_body' } });
  }
  t.match(await remove([kept], { account: 'nobody' }), { status: 401 });
  t.match(await remove([kept], { project: '-bad' }), { status: 400, body: { code: 'invalid_slug' } });
  t.ok(await cloudFiles.findByName(kept, never));
});

t.test('a deletion of many that the store does in part names the others, and keeps them', async (t) => {
  let refused: readonly string[] = [];
  const { ask, upload } = await serveFiles(t, {
    over: (store) => ({
      ...store,
      async deleteAll(keys, signal) {
        await store.deleteAll(
          keys.filter((key) => !refused.includes(key)),
          signal,
        );
        return refused;
      },
    }),
  });
  const [a, b] = (await Promise.all(['a', 'b'].map(async (name) => (await upload(name)).json()))) as {
    name: string;
  }[];
  const body = JSON.stringify({ names: [a?.name, b?.name] });
  refused = [`${testDeployment}/${ada}/demo/${a?.name}`];
  const answer = await ask('/_f_/demo/_delete_', { method: 'POST', body });
  t.match(await answer.json(), { deleted: 1, failed: [{ name: a?.name, code: 'unavailable' }] });
  t.equal((await ask(`/_f_/demo/${a?.name}`)).status, 200);
  refused = [];
  const again = await ask('/_f_/demo/_delete_', { method: 'POST', body });
  t.match(await again.json(), { deleted: 1, failed: [{ name: b?.name, code: 'not_found' }] });
});

t.test('a deletion that is cut between object and row leaves a 404 that can be deleted again', async (t) => {
  let failing = true;
  const { ask, upload, cloudFiles, store, log } = await serveFiles(t);
  const file = (await (await upload('a.txt')).json()) as { name: string };
  const path = `/_f_/demo/${file.name}`;
  const { remove } = cloudFiles;
  cloudFiles.remove = (name, signal) =>
    failing ? Promise.reject(new Error('injected')) : remove(name, signal);
  t.equal((await ask(path, { method: 'DELETE' })).status, 500);
  t.equal((await ask(path)).status, 404, 'a row without an object is no failure');

  const janitor = testJanitor({ store, cloudFiles });
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 0, failures: 0 });
  t.equal((await ask(path)).status, 404, 'the janitor does not bring it back');
  await janitor.close();
  failing = false;
  t.equal((await ask(path, { method: 'DELETE' })).status, 204);
  t.equal((await ask(path, { method: 'DELETE' })).status, 404);
  t.equal(log.failures.length, 1, 'the one that was injected');
});
