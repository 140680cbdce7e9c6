/** Records with files from a server to another, and to one with a ClickHouse server, where they go as well. */
import { join } from 'node:path';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const structure = structureOf('app', 'posts', [
  { name: 'photo', type: 'FILE', unique: true },
  { name: 'album', type: 'FILE', many: true },
]);
const clickhouse = await startClickhouse();
t.teardown(() => clickhouse.close());
const servedEnv = { CLICKHOUSE_URL: clickhouse.url };
const from = await sluiceFor(t);
const to = await sluiceFor(t, { env: servedEnv });

async function put({ baseUrl, token }: Sluice, path: string): Promise<{ name: string; folder: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'image/png' };
  const answer = await fetch(`${baseUrl}/_f_/app/${path}`, { method: 'PUT', body: 'x', headers });
  return (await answer.json()) as { name: string; folder: string };
}
const upload = async (sluice: Sluice): Promise<string> => (await put(sluice, 'a.png')).name;
const send = ({ baseUrl, token }: Sluice, path: string, body?: unknown, method = body ? 'POST' : 'GET') =>
  call({ baseUrl, token, path, method, structure, ...(body === undefined ? {} : { body }) });
const tokenOf = async ({ dataDir }: Sluice, env: object): Promise<string> => {
  const may = 'find,insert,structure,files:read,files:write,backup';
  return (await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: dataDir, ...env })).stdout.trim();
};
const statusOf = async ({ baseUrl, token }: Sluice, name: string, method = 'GET'): Promise<number> =>
  (await fetch(`${baseUrl}/_f_/app/${name}`, { method, headers: { authorization: `Bearer ${token}` } }))
    .status;

t.test('export and import', async (t) => {
  const { folder: films } = await put(from, 'new/720p/one.ts?expiresIn=3600');
  await put(from, `${films}/index.m3u8`);
  const presets = { card: { width: 40, height: 30, fit: 'cover' } };
  t.equal((await send(from, '/_projects_/app/files/presets', presets, 'PUT')).status, 200);
  const [a, b, c] = [await upload(from), await upload(from), await upload(from)];
  const posts = [{ photo: a, album: [b, c] }, { photo: b }, { album: [] }];
  t.equal((await send(from, '/app/posts', posts)).status, 200);
  const records = (await send(from, '/app/posts')).body;
  const folder = join(await temporaryFolder(t), 'export');
  const run = async (script: string, sluice: Sluice, env: object, ...args: string[]) => {
    const access = { SLUICE_URL: sluice.baseUrl, SLUICE_TOKEN: await tokenOf(sluice, env) };
    const { status, stdout, stderr } = await runToEnd(script, [folder, ...args], access);
    t.equal(status, 0, `${script} ${stdout}${stderr}`);
  };
  await run('cli/export.ts', from, {});
  await run('cli/import.ts', to, servedEnv);
  await run('cli/import.ts', to, servedEnv, '--verify');
  const there = (await send(to, '/app/posts')).body;
  t.strictSame(JSON.parse(JSON.stringify(there).replaceAll(to.baseUrl, from.baseUrl)), records);
  const inFolder = async (sluice: Sluice) =>
    (await send(sluice, `/_f_/app?folder=${films}`)).body.files.map(
      ({ s3Link, _id, updatedAt, ownedBy, ...file }: Record<string, unknown>) => file,
    );
  const filed = await inFolder(to);
  t.strictSame(filed, await inFolder(from));
  t.match(filed, [{ path: 'index.m3u8' }, { path: '720p/one.ts', expiresAt: /Z$/ }]);
  t.equal(await statusOf(to, `${films}/720p/one.ts`), 200);
  t.strictSame((await send(to, '/_projects_/app/files/presets')).body.presets, presets);
  t.equal(await statusOf(to, a), 200);
  t.equal(await statusOf(to, a, 'DELETE'), 409);
  t.equal(await statusOf(from, b, 'DELETE'), 409);
  await send(to, `/app/posts?id=${there[1].id}`, undefined, 'DELETE');
  await send(from, '/app/posts/clear-records', undefined, 'DELETE');
  await eventuallyEqual(t, () => Promise.all([a, b, c].map((name) => statusOf(from, name))), [404, 404, 404]);
  t.strictSame(await Promise.all([a, b, c].map((name) => statusOf(to, name))), [200, 200, 200]);
});
