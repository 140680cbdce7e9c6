/** What a token without the grant `backup` may not copy, and one with it may. */
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const users = structureOf('shop', 'users', fieldsOf('email TEXT, password TEXT hashed'));
const guarded = structureOf('shop', 'notes', fieldsOf('text TEXT'), {
  authOptions: { active: true, space: 'users' },
});

t.test('copies of files, and records whose space needs a login', async (t) => {
  const sluice = await sluiceFor(t);
  const { baseUrl, token } = sluice;
  for (const [path, structure] of [
    ['/shop/users', users],
    ['/shop/notes', guarded],
  ] as const)
    await call({ baseUrl, token, path: `${path}/set-structure`, body: JSON.parse(structure) });
  const tokenFor = async (may: string): Promise<string> => {
    const made = await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: sluice.dataDir });
    return made.stdout.trim();
  };
  const few = 'find,insert,files:write';
  const copy = new URLSearchParams({ originalName: 'a.txt', createdAt: '2024-01-01T00:00:00.000Z' });
  for (const [own, status, plain] of [
    [await tokenFor(few), 403, 401],
    [await tokenFor(`${few},backup`), 200, 401],
    [token, 403, 401],
  ] as const) {
    const send = (path: string, init: RequestInit = {}) =>
      fetch(baseUrl + path, { ...init, headers: { authorization: `Bearer ${own}` } });
    const put = await send(`/_f_/shop/6f1f6b0e-5c1d-4e0e-9a44-0f8a3c1b7d21_a.txt?${copy}`, {
      method: 'PUT',
      body: 'the bytes',
    });
    t.equal(put.status, status);
    const exported = await send('/shop/notes/_export_.parquet?$hashes=true');
    t.equal(exported.status, status);
    const imported = await send('/shop/notes/_import_?format=parquet&keep=id', {
      method: 'POST',
      body: await exported.arrayBuffer(),
    });
    t.equal(imported.status, status === 200 ? 202 : status);
    t.equal((await send('/shop/notes/_export_.parquet')).status, plain, 'others need a login as before');
    t.equal(
      (await send('/shop/notes/_import_?format=csv', { method: 'POST', body: 'text\na' })).status,
      plain,
    );
  }
});
