/** Uploads with an Idempotency-Key: a request that comes again stores nothing more, and gets the same answer. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { adoptObject } from '#gateway/janitor/adopt-object.ts';
import { noPlans } from '../services/direct-uploads.ts';
import { noResumableUploads } from '../services/resumable-uploads.ts';
import { ada, eve, serveFiles } from '../services/serve-files.ts';
import { untilEmpty } from '../services/until-empty.ts';

const never = new AbortController().signal;
const day = 24 * 3600 * 1000;

interface Sent {
  readonly key?: string;
  readonly account?: string;
  readonly content?: string;
  readonly name?: string;
  readonly project?: string;
  readonly type?: string;
}

interface Answer {
  readonly status: number;
  readonly replayed: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape, which each test looks into
  readonly body: any;
}

async function setUp(t: Test, options: Parameters<typeof serveFiles>[1] = {}) {
  const served = await serveFiles(t, options);
  const answerOf = async (response: Response): Promise<Answer> => ({
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    body: await response.json(),
  });
  const headersOf = ({ key }: Sent): Record<string, string> =>
    key === undefined ? {} : { 'idempotency-key': key };
  const form = async (sent: Sent = {}): Promise<Answer> => {
    const { account = ada, content = 'x', name = 'a.txt', project = 'demo', type = 'text/plain' } = sent;
    const body = new FormData();
    body.set('file', new Blob([content], { type }), name);
    return answerOf(
      await served.ask(`/_f_/${project}/upload`, { account, method: 'POST', body, headers: headersOf(sent) }),
    );
  };
  const put = async (sent: Sent = {}): Promise<Answer> => {
    const { account = ada, content = 'x', name = 'a.txt', project = 'demo', type = 'text/plain' } = sent;
    const headers = { ...headersOf(sent), 'content-type': type };
    return answerOf(
      await served.ask(`/_f_/${project}/${name}`, { account, method: 'PUT', body: content, headers }),
    );
  };
  const stored = async (): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { key } of served.store.list('', never)) keys.push(key);
    return keys;
  };
  return { ...served, form, put, stored };
}

t.test('the same key gets the same answer, and one file', async (t) => {
  for (const way of ['form', 'put'] as const) {
    const { [way]: send, stored, cloudFiles, ask } = await setUp(t);
    const first = await send({ key: 'k1' });
    t.match(first, { status: 200, replayed: null });
    t.match(first.body._id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const key of ['k1', '"k1"']) {
      t.strictSame(await send({ key }), { ...first, replayed: 'true' }, 'its row is in the log');
    }
    await cloudFiles.list({ ownerId: ada, projectSlug: 'demo', limit: 1 }, never);
    t.strictSame(await send({ key: 'k1' }), { ...first, replayed: 'true' }, 'its row is in the table');
    t.equal((await stored()).length, 1);
    t.notMatch((await send({ key: 'k2' })).body, { _id: first.body._id });
    t.notMatch((await send()).body, { _id: first.body._id });
    t.equal((await stored()).length, 3);
    t.equal((await ask(`/_f_/demo/${first.body.name}`, { method: 'DELETE' })).status, 204);
    const again = await send({ key: 'k1' });
    t.match(again, { status: 200, replayed: null }, 'a file that was deleted can be uploaded again');
    t.not(again.body.name, first.body.name, 'and its address does not come again');
  }
});

t.test('a form and a plain body of one file are the same', async (t) => {
  const { form, put } = await setUp(t);
  const { body } = await form({ key: 'k' });
  t.strictSame(await put({ key: 'k' }), { status: 200, replayed: 'true', body });
});

t.test('another file under the key is a 422, and leaves nothing', async (t) => {
  const { form, put, stored } = await setUp(t);
  t.equal((await form({ key: 'k' })).status, 200);
  for (const other of [
    { content: 'y' },
    { content: 'xx' },
    { name: 'b.txt' },
    { project: 'other' },
    { type: 'image/png' },
  ]) {
    for (const send of [form, put]) {
      t.match(await send({ key: 'k', ...other }), { status: 422, body: { code: 'idempotency_key_reused' } });
    }
  }
  t.equal((await stored()).length, 1);
  t.match(await form({ key: 'k' }), { status: 200, replayed: 'true' });
});

t.test('keys of accounts are their own, and last for a day', async (t) => {
  let now = Date.now();
  const { form, stored } = await setUp(t, { now: () => now });
  const { body: hers } = await form({ key: 'k' });
  const { body: theirs, replayed } = await form({ key: 'k', account: eve, content: 'y' });
  t.equal(replayed, null);
  t.not(theirs._id, hers._id);
  now += day - 60_000;
  t.match(await form({ key: 'k' }), { replayed: 'true', body: { _id: hers._id } });
  now += 120_000;
  const { body: next } = await form({ key: 'k', content: 'another' });
  t.not(next._id, hers._id);
  t.equal((await stored()).length, 3);
});

t.test('of two at once one stores the file, and the other one is told to wait', async (t) => {
  let held: (() => void) | null = null;
  const { form, stored } = await setUp(t, {
    over: (store) => ({
      ...store,
      async create(...args) {
        if (held === null) await new Promise<void>((resolve) => (held = resolve));
        return store.create(...args);
      },
    }),
  });
  const first = form({ key: 'k' });
  while (held === null) await nextTurn();
  const second = await form({ key: 'k' });
  t.match(second, { status: 409, body: { code: 'idempotency_key_in_use' } });
  (held as () => void)();
  const { status, body } = await first;
  t.equal(status, 200);
  t.strictSame(await form({ key: 'k' }), { status, body, replayed: 'true' });
  t.equal((await stored()).length, 1);
});

t.test('a failed upload leaves its key free, and a full quota does not refuse what is stored', async (t) => {
  let failing = true;
  const { form, stored } = await setUp(t, {
    quotaFiles: 1,
    over: (store) => ({
      ...store,
      create: (...args) => (failing ? Promise.reject(new Error('injected')) : store.create(...args)),
    }),
  });
  t.equal((await form({ key: 'k' })).status, 500);
  failing = false;
  t.match(await form({ key: 'k' }), { status: 200, replayed: null });
  t.match(await form({ key: 'k' }), { status: 200, replayed: 'true' });
  t.match(await form({ key: 'other' }), { status: 403, body: { code: 'quota_exceeded' } });
  t.equal((await stored()).length, 1);
});

t.test('an object of an upload that was killed before its row does not become a second file', async (t) => {
  const { form, stored, store, cloudFiles } = await setUp(t);
  const { body } = await form({ key: 'k' });
  const [objectKey = ''] = await stored();
  const prefix = body._id.slice(0, 18);
  // another attempt with the key, of which nobody was told
  const id = `${prefix}-8aaa-aaaaaaaaaaaa`;
  const orphan = objectKey.replace(body.name, `${id}_a.txt`);
  const metadata = { 'file-id': id, 'original-name': 'a.txt', 'owner-id': ada, 'project-slug': 'demo' };
  const writer = await store.create(orphan, { contentType: 'text/plain', metadata }, never);
  await writer.complete({ chunks: [], size: 0, crc32: 0 });
  t.equal((await stored()).length, 2);
  t.equal(
    await adoptObject(
      { store, cloudFiles, digests: noDigests, resumable: noResumableUploads, plans: noPlans },
      orphan,
      {
        dryRun: false,
        signal: never,
      },
    ),
    'nothing there',
  );
  t.strictSame(await untilEmpty(async () => (await stored()).filter((key) => key !== objectKey)), []);
});

t.test('what is no key is a 400', async (t) => {
  const { form, put } = await setUp(t);
  for (const key of ['', '""', 'x'.repeat(256), 'ä', 'a\tb']) {
    for (const send of [form, put]) {
      t.match(await send({ key }), { status: 400, body: { code: 'invalid_header' } }, JSON.stringify(key));
    }
  }
  for (const key of ['x'.repeat(255), '"', `'; DROP TABLE x; --`, 'a, b', '%_\\', '../../..']) {
    t.match(await form({ key }), { status: 200, replayed: null }, key);
    t.match(await form({ key }), { status: 200, replayed: 'true' }, key);
  }
});
