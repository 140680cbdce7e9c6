/** Files that expire: what each kind of upload takes, who may choose, and what is answered from then on. */
import t, { type Test } from 'tap';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { DirectDownloads } from '#gateway/download/direct-downloads.ts';
import { newFile } from '../services/new-file.ts';
import { ada, serveFiles } from '../services/serve-files.ts';
import { testJanitor } from '../services/test-janitor.ts';

const never = new AbortController().signal;
const week = 7 * 24 * 3600;
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };

type Ask = Awaited<ReturnType<typeof serveFiles>>['ask'];
type Expires = string | undefined;

/** Moves the clock of this process, but not that of the engine, until the test ends. Milliseconds. */
function shiftClock(t: Test, by: number): void {
  const real = Date.now;
  Date.now = () => real() + by;
  t.teardown(() => {
    Date.now = real;
  });
}

async function jsonOf(answer: Response): Promise<{ status: number; body: Record<string, unknown> }> {
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const asJson = { 'content-type': 'application/json' };

/** Every kind of upload, with `expiresIn` as its clients send it. @param query of the address */
const uploads: Readonly<
  Record<string, (ask: Ask, expires: Expires, query: string) => ReturnType<typeof jsonOf>>
> = {
  'a form': async (ask, expires, query) => {
    const body = new FormData();
    if (expires !== undefined) body.set('expiresIn', expires);
    body.set('file', new Blob(['x']), 'a.txt');
    return jsonOf(await ask(`/_f_/demo/upload?${query}`, { method: 'POST', body }));
  },
  'the address of a form': async (ask, expires, query) => {
    const body = new FormData();
    body.set('file', new Blob(['x']), 'a.txt');
    const more = expires === undefined ? '' : `&expiresIn=${encodeURIComponent(expires)}`;
    return jsonOf(await ask(`/_f_/demo/upload?${query}${more}`, { method: 'POST', body }));
  },
  PUT: async (ask, expires, query) => {
    const more = expires === undefined ? '' : `&expiresIn=${encodeURIComponent(expires)}`;
    return jsonOf(await ask(`/_f_/demo/a.txt?${query}${more}`, { method: 'PUT', body: 'x' }));
  },
  tus: async (ask, expires, query) => {
    const metadata = [
      `filename ${base64('a.txt')}`,
      ...(expires === undefined ? [] : [`expiresIn ${base64(expires)}`]),
    ];
    const headers = { ...tus, 'upload-length': '1', 'upload-metadata': metadata.join(',') };
    const method = 'POST';
    return jsonOf(await ask(`/_f_/demo/resumable?${query}`, { method, headers, body: 'x' }));
  },
  'the draft': async (ask, expires, query) => {
    const headers = { 'upload-complete': '?1', 'upload-draft-interop-version': '8' };
    const more = expires === undefined ? '' : `&expiresIn=${encodeURIComponent(expires)}`;
    const answer = await ask(`/_f_/demo/resumable?${query}${more}`, { method: 'POST', headers, body: 'x' });
    return jsonOf(answer);
  },
  direct: async (ask, expires, query) => {
    const expiresIn = expires === undefined || Number.isNaN(Number(expires)) ? expires : Number(expires);
    const planned = await jsonOf(
      await ask(`/_f_/demo/direct?${query}`, {
        method: 'POST',
        headers: asJson,
        body: JSON.stringify({ name: 'a.txt', size: 0, ...(expiresIn === undefined ? {} : { expiresIn }) }),
      }),
    );
    if (planned.status !== 201) return planned;
    return jsonOf(await ask(`${planned.body.location}/complete`, { method: 'POST' }));
  },
};

/** Seconds from the end of an upload on. */
function lifetimeOf(body: Record<string, unknown>): number | undefined {
  const { expiresAt, createdAt } = body as { expiresAt?: string; createdAt: string };
  return expiresAt === undefined ? undefined : (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000;
}

t.test('every kind of upload takes expiresIn', async (t) => {
  const { ask } = await serveFiles(t);
  for (const [what, upload] of Object.entries(uploads)) {
    const { status, body } = await upload(ask, `${week}`, '');
    t.match(status, /^20[01]$/, `${what}: ${JSON.stringify(body)}`);
    t.equal(lifetimeOf(body), week, `${what}: from the end of the upload on`);
    t.equal(lifetimeOf((await upload(ask, undefined, '')).body), undefined, `${what}: it stays otherwise`);
    for (const bad of ['0', '-1', '1.5', 'a week', '99999999999', '1e3000', ''])
      t.equal((await upload(ask, bad, '')).status, 400, `${what}: ${bad}`);
  }
});

t.test('FILES_TTL is the default, and the longest', async (t) => {
  const { ask } = await serveFiles(t, { filesTtl: 3600 });
  for (const [what, upload] of Object.entries(uploads)) {
    t.equal(lifetimeOf((await upload(ask, undefined, '')).body), 3600, what);
    t.equal(lifetimeOf((await upload(ask, '60', '')).body), 60, what);
    t.match(await upload(ask, '3601', ''), { status: 400, body: { code: 'invalid_options' } }, what);
  }
});

t.test('an upload link limits how long its files stay', async (t) => {
  const { ask } = await serveFiles(t, { filesTtl: 3600 });
  const linkFor = async (terms: object): Promise<{ status: number; body: Record<string, unknown> }> =>
    jsonOf(
      await ask('/_f_/demo/upload-link', { method: 'POST', headers: asJson, body: JSON.stringify(terms) }),
    );
  const { body: made } = await linkFor({ expiresIn: 60, fileExpiresIn: 600 });
  const query = new URL(String(made.form)).search.slice(1);
  for (const [what, upload] of Object.entries(uploads)) {
    if (what === 'direct') continue;
    t.equal(lifetimeOf((await upload(ask, undefined, query)).body), 600, what);
    t.equal((await upload(ask, '601', query)).status, 400, what);
    t.equal(lifetimeOf((await upload(ask, '599', query)).body), 599, what);
  }
  for (const fileExpiresIn of [0, -1, 1.5, 'x', 1e12, null])
    t.equal((await linkFor({ expiresIn: 60, fileExpiresIn })).status, 400, `${fileExpiresIn}`);
});

t.test('an expired file is 410, and in no list', async (t) => {
  const { ask, upload, cloudFiles, store } = await serveFiles(t, { trashDays: 7 });
  const expiring = await uploads.PUT?.(ask, '600', '');
  const name = String(expiring?.body.name);
  const stays = String(((await (await upload('b.txt')).json()) as Record<string, unknown>).name);
  const answer = await ask(`/_f_/demo/${name}`);
  t.equal(await answer.text(), 'x');
  t.match(answer.headers.get('cache-control'), /^public, max-age=(?:600|59\d), immutable$/);
  const link = { method: 'POST', headers: asJson, body: '{"expiresIn":60}' };
  const { body: linked } = await jsonOf(await ask(`/_f_/demo/${name}/link`, link));
  // it is in the cache of small files now
  shiftClock(t, 601_000);
  for (const method of ['GET', 'HEAD'])
    t.equal((await ask(`/_f_/demo/${name}`, { method })).status, 410, method);
  t.match(await jsonOf(await ask(`/_f_/demo/${name}`)), { body: { code: 'file_expired' } });
  const opened = new URL(String(linked.link));
  t.equal((await ask(`/_f_/demo/${name}${opened.search}`)).status, 410, 'by a link');
  t.equal((await ask(`/_f_/demo/${name}/link`, link)).status, 410);
  t.equal((await ask(`/_f_/demo/${name}`, { headers: { 'if-none-match': '*' } })).status, 410, 'no 304');
  const { body: list } = await jsonOf(await ask('/_f_/demo?count=true'));
  t.match(list, { count: 1, files: [{ name: stays }] });
  const { body: trash } = await jsonOf(await ask('/_f_/demo?trash=true&count=true'));
  t.match(trash, { count: 0, files: [] });
  // the engine's clock says that it is not due
  const janitor = testJanitor({ store, cloudFiles });
  t.teardown(() => janitor.close());
  t.match(await janitor.run({ dryRun: false }), { filesExpired: 0, failures: 0 });
  t.equal((await ask(`/_f_/demo/${name}`, { method: 'DELETE' })).status, 204, 'it can be deleted');
  t.equal(await cloudFiles.findAny(name, never), null, 'and does not go to the trash');
});

t.test('a file that expires in the trash can not be restored', async (t) => {
  const { ask } = await serveFiles(t, { trashDays: 7 });
  const name = String((await uploads.PUT?.(ask, '600', ''))?.body.name);
  t.equal((await ask(`/_f_/demo/${name}`, { method: 'DELETE' })).status, 204);
  shiftClock(t, 601_000);
  t.equal((await ask(`/_f_/demo/${name}`)).status, 404, 'it was deleted before it expired');
  t.match(await jsonOf(await ask(`/_f_/demo/${name}/restore`, { method: 'POST' })), {
    status: 410,
    body: { code: 'file_expired' },
  });
  t.match((await jsonOf(await ask('/_f_/demo?trash=true'))).body, { files: [] });
});

t.test('the janitor deletes what is expired by both clocks, and leaves the rest', async (t) => {
  const { store, cloudFiles, quota } = await serveFiles(t, { quotaFiles: 10 });
  const put = async (expiresIn: number): Promise<CloudFile> => {
    const file = newFile({ ownerId: ada, expiresAt: new Date(Date.now() + expiresIn * 1000) });
    const { objectKey } = file;
    const writer = await store.create(objectKey, { contentType: 'text/plain', metadata: {} } as never, never);
    await writer.complete({ chunks: [Buffer.from('x')], size: 1, crc32: 0x8cdc1683 });
    await cloudFiles.insert(file, never);
    return file;
  };
  const [old, young, later] = [await put(-3600), await put(-60), await put(3600)];
  const run = (now?: () => number) => {
    const janitor = testJanitor({ store, cloudFiles, quota, grace: 900_000, ...(now && { now }) });
    t.teardown(() => janitor.close());
    return janitor.run({ dryRun: false });
  };
  t.match(await run(() => Date.now() - 7_200_000), { filesExpired: 0 }, 'a clock that was set back');
  t.match(await run(() => Date.now() + 1e12), { filesExpired: 1, failures: 0 }, 'a clock that is ahead');
  t.equal(await cloudFiles.findAny(old.name, never), null);
  t.equal(await store.head(old.objectKey, never), null);
  for (const file of [young, later]) {
    t.ok(await cloudFiles.findAny(file.name, never));
    t.ok(await store.head(file.objectKey, never));
  }
  t.equal((await cloudFiles.usedBy(ada, never)).files, 2);
});

t.test('no address in the bucket outlives its file', async (t) => {
  let now = 1_800_000_000_000;
  const lifetimes: number[] = [];
  const downloads = new DirectDownloads({
    store: { head: async () => null },
    direct: {
      async readAddress(_key, { lifetime }) {
        lifetimes.push(lifetime);
        return `https://bucket.test/${lifetimes.length}`;
      },
    },
    above: 0,
    now: () => now,
  });
  const file = newFile({ contentType: 'video/mp4', expiresAt: new Date(now + 100_500) });
  await downloads.address(file, null, never);
  await downloads.address(file, now / 1000 + 3600, never);
  now += 90_000;
  await downloads.address(file, null, never);
  await downloads.address(newFile({ expiresAt: new Date(now + 300) }), null, never);
  t.strictSame(lifetimes, [100, 10, 1]);
});
