/**
 * The samples of docs/uploads.md for browsers, as a reader would copy them, in Chromium (CHROMIUM, or /usr/bin/chromium):
 * each uploads a file, and shows its address. Suites with a real S3 server run them on that.
 */

import { createServer, request as requestHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { allowPages } from '../services/allow-pages.ts';
import { browserSamples, bundledSample } from '../services/browser-samples.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { testedS3 } from '../services/tested-s3.ts';

/** Of two parts on S3, and nowhere the same. */
const content = 'Array.from({ length: 1_500_000 }, (_, place) => place).join()';

/** Opens pages that run one script each. */
async function openPages(t: Test) {
  let script = '';
  const pages = createServer((request, response) => {
    const isScript = request.url === '/sample.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><body><script type="module" src="/sample.js"></script>');
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`;
  const browser = await launchChromium();
  t.teardown(async () => {
    await browser.close();
    pages.close();
  });
  return {
    browser,
    /** Runs a script in a page of the browser or of a context. @returns the link that it shows */
    async linkOf(on: Pick<typeof browser, 'newPage'>, heading: string, code: string): Promise<string> {
      script = code;
      const page = await on.newPage();
      const problems: string[] = [];
      const link = new Promise<string>((resolve, reject) => {
        page.on('console', (message) => {
          if (message.text().startsWith('http')) resolve(message.text());
          else problems.push(message.text());
        });
        page.on('pageerror', (error) => reject(error));
        page.on('close', () => reject(new Error(`${heading} showed no link: ${problems.join(', ')}`)));
      });
      const wait = setTimeout(() => void page.close(), 20_000);
      try {
        await page.goto(address);
        return await link;
      } finally {
        clearTimeout(wait);
        await page.close();
      }
    },
  };
}

const variablesOf = (token: string, heading: string): string =>
  `const token = ${JSON.stringify(token)};\n` +
  `const file = new File([${content}], ${JSON.stringify(`${heading}.txt`)}, { type: 'text/plain', lastModified: 1 });`;

/** A proxy that cuts the connection in place of the first answer that says that the file is stored. */
async function startCuttingProxy(t: Test, target: string) {
  const seen = { cuts: 0 };
  const proxy = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const onward = requestHttp(new URL(url, target), { method, headers }, (answer) => {
      if (method === 'PATCH' && answer.headers['upload-complete'] === '?1' && seen.cuts === 0) {
        seen.cuts++;
        answer.resume().on('end', () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => request.socket.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { seen, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

t.before(allowPages);

t.test('every sample for browsers uploads a file', async (t) => {
  const sluice = await sluiceFor(t, { env: testedS3 });
  const folder = await temporaryFolder(t);
  const { browser, linkOf } = await openPages(t);
  const expected = Array.from({ length: 1_500_000 }, (_, place) => place).join();
  const found = await browserSamples();
  t.strictSame(
    found.map(([heading]) => heading),
    [
      ...['fetch', 'fetch with progress', 'axios', 'Uppy', 'Dropzone', 'tus-js-client', 'Uppy with tus'],
      ...['Straight to the bucket', 'Uppy to the bucket', 'Folders'],
    ],
  );
  for (const [heading, code] of found) {
    const own = code.replaceAll('http://127.0.0.1:8080', sluice.baseUrl);
    const script = await bundledSample(own, folder, variablesOf(sluice.token, heading));
    const stored = await fetch(await linkOf(browser, heading, script));
    t.ok((await stored.text()) === expected, heading);
    t.ok(stored.url.includes(`${heading.replaceAll(' ', '-')}.txt`), stored.url);
  }
});

t.test(
  'a resumable sample ended in silence when the last answer was lost, or the file was sent before',
  async (t) => {
    const sluice = await sluiceFor(t, { env: testedS3 });
    const folder = await temporaryFolder(t);
    const { browser, linkOf } = await openPages(t);
    for (const [heading, code] of (await browserSamples()).filter(([name]) => name.includes('tus'))) {
      const proxy = await startCuttingProxy(t, sluice.baseUrl);
      const own = code.replaceAll('http://127.0.0.1:8080', proxy.url);
      const script = await bundledSample(own, folder, variablesOf(sluice.token, heading));
      const context = await browser.newContext();
      const first = await linkOf(context, heading, script);
      t.equal(proxy.seen.cuts, 1, `${heading}: the last answer was lost`);
      t.equal((await fetch(first)).status, 200);
      t.equal((await fetch(await linkOf(context, heading, script))).status, 200, `${heading}: sent before`);
      await context.close();
    }
  },
);
