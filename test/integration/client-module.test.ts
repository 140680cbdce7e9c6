/** The client as the server serves it to pages: names, caches, origins, and that it is the client. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { clientRoutes } from '#process/process-routes/client-routes.ts';
import { buildClient } from '../services/build-client.ts';
import { serveRoutes } from '../services/serve-routes.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const { folder, version } = await buildClient();
const routes = (from: string) => clientRoutes(from).map((route) => ({ ...route, compressed: true }));
const served = await serveRoutes(t, routes(folder), {
  corsOrigins: ['https://other.example'],
  compressAnswers: true,
});
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${served.baseUrl}/_client_/${path}`, { headers: { origin: 'https://page.example', ...headers } });

t.test('any page may load it, and check it', async (t) => {
  const answer = await get('sluice-client.js');
  const text = await answer.text();
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'text/javascript; charset=utf-8',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
    vary: 'Accept-Encoding',
  });
  t.equal(text.split('\n')[0], `/*! sluice-client ${version}, Apache-2.0 */`);
  t.match(text, /\/\/# sourceMappingURL=sluice-client\.js\.map\s*$/);
  // the test runner would look for the map
  const plain = text.replace(/\/\/# source.*/, '');
  const client = await import(`data:text/javascript,${encodeURIComponent(plain)}`);
  t.type(client.connect, 'function');
  t.equal(client.connect({ url: 'http://x/', token: 't', project: 'p' }).url, 'http://x');
});

t.test('its version and hash are an address, which never changes', async (t) => {
  const short = await get('sluice-client.js');
  const text = await short.text();
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const place = `/_client_/sluice-client-${version}-${hash}.js`;
  t.equal(short.headers.get('content-location'), place);
  const lasting = await get(place.slice('/_client_/'.length));
  t.equal(await lasting.text(), text);
  t.equal(lasting.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  t.equal(lasting.headers.get('etag'), short.headers.get('etag'));
  for (const name of [
    '',
    'x.js',
    `sluice-client-${version}-0000.js`,
    '..%2fpackage.json',
    'sluice-client.js%00',
  ])
    t.match(await get(name), { status: 404 }, name);
});

t.test('a copy that is current is not sent again', async (t) => {
  const etag = (await get('sluice-client.js')).headers.get('etag') as string;
  for (const tag of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
    const answer = await get('sluice-client.js', { 'if-none-match': tag });
    t.equal(answer.status, 304, tag);
    t.match(Object.fromEntries(answer.headers), { etag, 'access-control-allow-origin': '*' });
  }
  t.equal((await get('sluice-client.js', { 'if-none-match': '"x"' })).status, 200);
});

t.test('its source map has the sources, and no place of the machine that built it', async (t) => {
  const map = (await (await get('sluice-client.js.map')).json()) as Record<string, readonly string[]>;
  t.ok(map.sources?.includes('../src/client.ts'));
  t.equal(map.sourcesContent?.length, map.sources?.length);
  t.notMatch(JSON.stringify(map.sources), /"\//);
});

t.test('where it is not built', async (t) => {
  const empty = await temporaryFolder(t);
  const { baseUrl } = await serveRoutes(t, routes(empty));
  t.equal((await fetch(`${baseUrl}/_client_/sluice-client.js`)).status, 404);
  await writeFile(join(empty, 'sluice-client.js.map'), '{}');
  t.equal((await fetch(`${baseUrl}/_client_/sluice-client.js`)).status, 404);
});
