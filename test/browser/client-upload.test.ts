/** Uploads of sluice-client in Chromium: a page of another origin, which is reloaded in the middle. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { CloudFile } from '#client/files.ts';
import { cuttingProxy, sha256, sluiceWithDigests, someBytes } from '../services/client-files.ts';
import { throttle } from '../services/console-browser.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const mebibyte = 2 ** 20;

/** A page with the client, a choice of a file, and what has become of it. */
async function servePage(t: Test, url: string, token: string): Promise<number> {
  const client = JSON.stringify(join(import.meta.dirname, '../../client/src/index.ts'));
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { connect, download, upload } from ${client};
        const client = connect({ url: '${url}', token: '${token}', project: 'pages' });
        window.steps = [];
        window.send = async (partBytes) => {
          const onProgress = ({ sent }) => window.steps.push(sent);
          return upload(client, document.querySelector('input').files[0], { partBytes, onProgress });
        };
        window.stopped = (partBytes) => {
          const stop = new AbortController();
          const onProgress = ({ sent }) => sent > 0 && stop.abort(new Error('stopped'));
          const options = { partBytes, signal: stop.signal, onProgress };
          return upload(client, document.querySelector('input').files[0], options).catch(String);
        };
        window.read = async (file) => {
          const { stream, etag } = await download(client, file);
          const bytes = await new Response(stream).arrayBuffer();
          return [bytes.byteLength, etag.length > 2];
        };`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    minify: true,
    format: 'iife',
    write: false,
  });
  const html = `<!doctype html><input type="file"><script>${outputFiles[0]?.text}</script>`;
  const pages = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.statusCode = request.url === '/' ? 200 : 404;
    response.end(html);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  t.teardown(() => pages.close());
  return (pages.address() as AddressInfo).port;
}

interface Sending {
  steps: number[];
  send(partBytes: number): Promise<CloudFile>;
  read(file: CloudFile): Promise<[number, boolean]>;
}
declare const window: Sending;

const stepsOf = (page: Page): Promise<number[]> => page.evaluate(() => window.steps);
const send = (page: Page, partBytes: number): Promise<CloudFile> =>
  page.evaluate((most) => window.send(most), partBytes);

t.test('a file goes on after a reload of the page, and after cuts', { timeout: 180_000 }, async (t) => {
  const sluice = await sluiceWithDigests(t);
  const bytes = someBytes(40_000_000);
  const path = join(await temporaryFolder(t), 'film.mp4');
  await writeFile(path, bytes);
  const browser = await launchChromium({ args: ['--host-resolver-rules=MAP app.test 127.0.0.1'] });
  t.teardown(() => browser.close());
  // over plain HTTP from elsewhere a page has no digests
  for (const host of ['127.0.0.1', 'app.test']) {
    const proxy = await cuttingProxy(t, sluice, { cuts: 5, after: (id) => 6_000_000 + id * 1_000_000 });
    const port = await servePage(t, proxy.url, sluice.token);
    const page = await browser.newPage();
    await page.goto(`http://${host}:${port}/`);
    t.equal(await page.evaluate('window.isSecureContext'), host === '127.0.0.1');
    await page.setInputFiles('input', path);
    send(page, 2 * mebibyte).catch(() => {});
    // of which the last part may not be stored
    await page.waitForFunction((most) => (window.steps.at(-1) ?? 0) > most, 18_000_000);
    await page.reload();
    await page.setInputFiles('input', path);
    const file = await send(page, 2 * mebibyte);
    t.match(file, { originalName: 'film.mp4', contentType: 'video/mp4', sha256: sha256(bytes) });
    t.ok(((await stepsOf(page))[0] as number) > 15_000_000, 'it began where it was');
    t.ok(proxy.cut() >= 2);
    const times = proxy.forwarded('toTarget') / bytes.length;
    t.ok(times < 1.5);
    t.comment(`${host}: ${times.toFixed(2)} times the bytes`);
    t.equal(await page.evaluate('localStorage.length'), 0);
    t.strictSame(await page.evaluate((stored) => window.read(stored), file), [bytes.length, true]);

    await page.evaluate('window.steps = []');
    // Chromium tells of progress each 50 ms
    const network = await throttle(page);
    await network.slowDown(100_000_000);
    const whole = await send(page, 64 * mebibyte);
    await network.detach();
    t.equal(whole.sha256, file.sha256);
    const steps = await stepsOf(page);
    t.equal(steps[0], 0);
    t.equal(steps.at(-1), bytes.length);
    t.ok(
      steps.some((sent) => sent > 0 && sent < bytes.length),
      'a file of one request had no progress',
    );
    t.equal(await page.evaluate('window.stopped(64 * 2 ** 20)'), 'Error: stopped');
    await page.close();
  }
});
