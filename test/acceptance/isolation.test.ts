/** Two users with the same project and space slugs never see, change or list what the other owns. */
import { once } from 'node:events';
import t from 'tap';
import { call, structureOf } from '../services/record-client.ts';
import { removeData, runScript, startSluice } from '../services/start-sluice.ts';

const sluice = await startSluice();
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
});

async function tokenOf(email: string): Promise<string> {
  const child = runScript('token.ts', ['--user', email, '--create-user'], { DATA_DIR: sluice.dataDir });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(child, 'exit');
  return text.trim();
}

const alice = await tokenOf('alice@example.com');
const bob = await tokenOf('bob@example.com');
const structure = structureOf('shared', 'notes', [
  { name: 'text', type: 'TEXT', unique: true },
  { name: 'n', type: 'NUMBER' },
]);
const as = (token: string) => ({
  find: (query = '') => call({ baseUrl: sluice.baseUrl, token, path: `/shared/notes${query}`, structure }),
  findOne: (query = '') =>
    call({ baseUrl: sluice.baseUrl, token, path: `/shared/notes/_single_${query}`, structure }),
  insert: (body: unknown) => call({ baseUrl: sluice.baseUrl, token, path: '/shared/notes', structure, body }),
  stored: () =>
    call({
      baseUrl: sluice.baseUrl,
      token,
      path: '/shared/notes',
      headers: { 'use-pre-stored-structure': 'true', 'auto-create-record-space': 'false' },
    }),
});

t.test('records', async (t) => {
  t.match(await as(bob).stored(), { status: 404 }, 'nothing there yet');
  const [note] = (await as(alice).insert([{ text: 'of alice', n: 1 }])).body;
  t.match(await as(bob).stored(), { status: 404 }, "alice's space is not bob's");
  t.strictSame((await as(bob).find()).body, []);
  t.strictSame((await as(bob).find(`?id=${note.id}`)).body, []);
  t.strictSame((await as(bob).findOne('?text=of%20alice')).body, null);
  t.equal(
    (await as(bob).insert([{ text: 'of alice', n: 2 }])).status,
    200,
    'unique within a space of one owner',
  );
  t.match((await as(alice).find()).body, [{ text: 'of alice', n: 1 }]);
  t.match((await as(bob).find()).body, [{ text: 'of alice', n: 2 }]);
});

t.test('files', async (t) => {
  const body = new FormData();
  body.set('file', new Blob(['private words']), 'a.txt');
  const response = await fetch(`${sluice.baseUrl}/_f_/shared/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice}` },
    body,
  });
  const { s3Link } = (await response.json()) as { s3Link: string };
  const get = (headers: Record<string, string>) => fetch(s3Link, { headers });
  t.equal((await get({ authorization: `Bearer ${bob}` })).status, 404);
  t.equal((await get({ authorization: 'Bearer not-a-token-of-anyone' })).status, 401);
  t.equal(await (await get({ authorization: `Bearer ${alice}` })).text(), 'private words');
  t.equal(
    await (await get({})).text(),
    'private words',
    'the link itself is the permission, unless links are private',
  );
});

t.test('files with FILE_LINKS=private', async (t) => {
  await sluice.stop();
  const strict = await sluice.restart({ FILE_LINKS: 'private' });
  t.teardown(() => strict.stop());
  const body = new FormData();
  body.set('file', new Blob(['private words']), 'a.txt');
  const response = await fetch(`${strict.baseUrl}/_f_/shared/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice}` },
    body,
  });
  const { s3Link } = (await response.json()) as { s3Link: string };
  t.equal((await fetch(s3Link)).status, 401);
  t.equal((await fetch(s3Link, { headers: { authorization: `Bearer ${bob}` } })).status, 404);
  t.equal((await fetch(s3Link, { headers: { authorization: `Bearer ${alice}` } })).status, 200);
});
