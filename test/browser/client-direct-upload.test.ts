/** Direct uploads of sluice-client in Chromium: page, service and bucket have an origin each. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { CloudFile } from '#client/files.ts';
import { bucketWithCors } from '../services/bucket-with-cors.ts';
import { sha256, sluiceWithDigests, someBytes } from '../services/client-files.ts';
import { throttle } from '../services/console-browser.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const partBytes = 5 * 2 ** 20;

/** A page with the client, and a choice of a file. */
async function servePage(t: Test, url: string, token: string): Promise<string> {
  const client = JSON.stringify(join(import.meta.dirname, '../../client/src/index.ts'));
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { connect, upload } from ${client};
        const client = connect({ url: '${url}', token: '${token}', project: 'pages', retries: 2 });
        window.steps = [];
        window.send = async (options) => {
          const onProgress = ({ sent }) => window.steps.push(sent);
          return upload(client, document.querySelector('input').files[0], { ...options, onProgress });
        };
        window.failure = (options) =>
          window.send(options).then(() => null, ({ code, status, message }) => ({ code, status, message }));`,
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
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
}

interface Options {
  readonly partBytes?: number;
  readonly direct?: boolean;
}
interface Sending {
  steps: number[];
  send(options: Options): Promise<CloudFile>;
  failure(options: Options): Promise<{ code: string; status: number; message: string } | null>;
}
declare const window: Sending;

const send = (page: Page, options: Options = { partBytes }): Promise<CloudFile> =>
  page.evaluate((given) => window.send(given), options);

t.test('a file goes to the bucket, and goes on after a reload', { timeout: 180_000 }, async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const bucket = await bucketWithCors(t, stub.endpoint);
  const sluice = await sluiceWithDigests(t, {
    ...stubSettings(stub),
    S3_PUBLIC_ENDPOINT: bucket.url,
    CORS_ORIGINS: '*',
    DIGEST: 'none',
  });
  const origin = await servePage(t, sluice.baseUrl, sluice.token);
  const bytes = someBytes(60_000_000);
  const path = join(await temporaryFolder(t), 'film.mp4');
  await writeFile(path, bytes);
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.goto(origin);
  const stored = ({ name }: CloudFile) => stub.objects().find(({ key }) => key.endsWith(name));

  await t.test('a reload in the middle', async (t) => {
    await page.setInputFiles('input', path);
    // Chromium tells of progress each 50 ms
    const network = await throttle(page);
    await network.slowDown(100_000_000);
    send(page).catch(() => {});
    await page.waitForFunction((most) => (window.steps.at(-1) ?? 0) > most, 6 * partBytes);
    await page.reload();
    t.equal(await page.evaluate('localStorage.length'), 1);
    await page.setInputFiles('input', path);
    const file = await send(page);
    t.match(file, { originalName: 'film.mp4', contentType: 'video/mp4', size: bytes.length });
    t.equal(sha256(stored(file)?.bytes ?? Buffer.alloc(0)), sha256(bytes));
    const steps = await page.evaluate(() => window.steps);
    t.ok((steps[0] as number) >= 3 * partBytes, 'it began where it was');
    t.equal(steps.at(-1), bytes.length);
    t.ok(
      steps.some((sent) => sent > 0 && sent % partBytes !== 0),
      'it reports bytes as they are sent',
    );
    await network.detach();
    t.ok(bucket.received() < bytes.length + 4 * partBytes);
    t.equal(await page.evaluate('localStorage.length'), 0);
    t.equal(asked.filter((each) => each === 'POST /_f_/pages/direct').length, 1);
    t.strictSame(stub.openUploads(), []);
  });

  await t.test('a bucket that does not show ETags, and a file of one part', async (t) => {
    bucket.allow({ pages: true, etags: false });
    for (const options of [{ partBytes }, { partBytes: 64 * 2 ** 20 }]) {
      const file = await send(page, { ...options, direct: true });
      t.equal(sha256(stored(file)?.bytes ?? Buffer.alloc(0)), sha256(bytes));
    }
    t.equal(asked.filter((each) => each === 'GET /_f_/pages/options').length, 1, 'the offer is remembered');
  });

  await t.test('a bucket without CORS rules', async (t) => {
    bucket.allow({ pages: false });
    // without notes of plans, which are dropped after the answer
    const files = () => stub.objects().filter(({ key }) => !key.includes('/_direct/')).length;
    const before = files();
    const failure = await page.evaluate((given) => window.failure(given), { partBytes });
    t.match(failure, { code: 'bucket_cors', status: 0 });
    for (const text of [bucket.url, origin, `npm run -s sluice -- bucket --fix --origin ${origin}`])
      t.ok(failure?.message.includes(text), text);
    t.equal(files(), before);
    // it goes on once they are set, and through the service in any case
    t.ok(await send(page, { partBytes, direct: false }));
    bucket.allow({ pages: true });
    const file = await send(page, { partBytes });
    t.equal(sha256(stored(file)?.bytes ?? Buffer.alloc(0)), sha256(bytes));
  });
});
