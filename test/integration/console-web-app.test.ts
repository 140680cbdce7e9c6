/** How the built web app is served: what is kept, what is not, and what nobody can get at. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { serveConsole } from '../services/console-harness.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const page = '<!doctype html><title>the page</title>';
const script = `console.log(${JSON.stringify('x'.repeat(500))});`;
const folder = await temporaryFolder(t);
const dist = join(folder, 'dist');
await writeFile(join(folder, 'secret.txt'), 'secret');
const served = await serveConsole(t, await openMigratedChdb(t), { webApp: dist });
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  served.ask({ path: `/_console_${path}`, headers, method });

t.test('until it is built, a page says how to', async (t) => {
  const answer = await get('/');
  t.equal(answer.status, 200);
  t.match(answer.text, /npm run build:console/);
  await mkdir(join(dist, 'assets'), { recursive: true });
  await writeFile(join(dist, 'index.html'), page);
  await writeFile(join(dist, 'assets', 'main-ABC123.js'), script);
  await writeFile(join(dist, 'assets', 'main-ABC123.js.gz'), gzipSync(script));
  await writeFile(join(dist, 'assets', 'main-ABC123.unknown'), 'of no type that is served');
  t.equal((await get('/')).text, page, 'and then it is there');
});

t.test(
  'every address of the app answers its page: nobody may frame it, nothing else runs in it',
  async (t) => {
    const paths = [
      '/',
      '/login',
      '/projects/demo/spaces/people/structure',
      '/projects/a%2Fb/%E2%82%AC',
      '/a/../b',
    ];
    for (const path of paths) {
      const { status, text, headers } = await get(path);
      t.equal(status, 200, path);
      t.equal(text, page, path);
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'x-frame-options': 'DENY',
      });
      const policy = new Map(
        headers['content-security-policy']?.split('; ').map((part) => {
          const [name, ...values] = part.split(' ');
          return [name, values.join(' ')];
        }),
      );
      t.strictSame(Object.fromEntries(policy), {
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': "'self'",
        'img-src': "'self' data: blob: https://api.test https://files.test",
        'media-src': "'self' data: blob: https://api.test https://files.test",
        'connect-src': "'self' https://api.test https://files.test",
        'frame-ancestors': "'none'",
        'base-uri': "'none'",
        'form-action': "'self'",
      });
    }
    t.match(await get(''), { status: 302, headers: { location: '/_console_/' } });
  },
);

t.test('a page is asked for anew, and a file with a hash never', async (t) => {
  const first = await get('/projects');
  const etag = first.headers.etag as string;
  t.match(await get('/usage', { 'if-none-match': etag }), { status: 304, text: '' });
  t.match(await get('/usage', { 'if-none-match': '"other"' }), { status: 200 });
  const asset = await get('/assets/main-ABC123.js');
  t.equal(asset.text, script);
  t.match(asset.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  });
  const head = await get('/assets/main-ABC123.js', {}, 'HEAD');
  t.match(head, { status: 200, text: '', headers: { 'content-length': String(script.length) } });
  t.match(await get('/', {}, 'HEAD'), { status: 200, text: '', headers: { etag: /W/ } });
});

t.test('what the build compressed is sent to who takes it', async (t) => {
  const coding = async (accept: string): Promise<string | undefined> =>
    (await get('/assets/main-ABC123.js', { 'accept-encoding': accept })).headers['content-encoding'];
  t.equal(await coding('gzip, deflate, br'), 'gzip');
  t.equal(await coding('gzip;q=0.8'), 'gzip');
  t.equal(await coding('gzip;q=0, br;q=0.0'), undefined);
  t.equal(await coding(''), undefined);
  const response = await fetch(`http://127.0.0.1:${served.port}/_console_/assets/main-ABC123.js`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  t.equal(await response.text(), script);
  t.equal(gunzipSync(gzipSync(script)).toString(), script);
  t.equal(
    (await get('/', { 'accept-encoding': 'gzip' })).text,
    page,
    'what was not compressed is sent as it is',
  );
});

t.test('nothing but the files of the build is served', async (t) => {
  for (const path of '/assets/none.js /assets/ /assets/main-ABC123.unknown /api /api/ /api/none'.split(' ')) {
    t.match(await get(path), { status: 404, body: { code: 'not_found' } }, path);
  }
  // sent as they are: fetch would tidy them
  const hostile = [
    ...'/_console_/../secret.txt /_console_/..%2fsecret.txt /_console_/%2e%2e/secret.txt'.split(' '),
    ...'/_console_/assets/../../secret.txt /_console_/assets/..%2f..%2fsecret.txt'.split(' '),
    ...'/_console_/assets/%2e%2e/%2e%2e/secret.txt /_console_//etc/passwd'.split(' '),
    ...'/_console_/..%5c..%5csecret.txt /_console_/%00'.split(' '),
    ...'/_console_/assets/main-ABC123.js%00.html'.split(' '),
    `/_console_/${'a/'.repeat(1000)}`,
  ];
  for (const path of hostile) {
    const { status, text } = await served.ask({ path });
    t.ok(status === 404 || (status === 200 && text === page), `${path}: ${status}`);
  }
  t.match(await get('/login', {}, 'POST'), { status: 405 });
  t.match(await get('/login', {}, 'DELETE'), { status: 405 });
});
