/**
 * The sample "Uppy to the bucket" of docs/uploads.md in Chromium, with Uppy's own plugin for reloads: a part is cut off, the
 * page is reloaded in the middle of another, and the upload goes on with the parts that are missing.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { allowPages } from '../services/allow-pages.ts';
import { browserSamples, bundledSample } from '../services/browser-samples.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { testedS3 } from '../services/tested-s3.ts';

/** Of five parts of 5 MiB. */
const content = 'Array.from({ length: 3_000_000 }, (_, place) => place).join()';

/** The end of the sample, and what a test needs to see. */
const ending = `
globalThis.kept = () => new Promise((resolve) => {
  const opening = indexedDB.open('uppy-blobs');
  opening.onsuccess = () => {
    const kept = (store, key) => opening.result.transaction([store]).objectStore(store)[key === undefined ? 'count' : 'get'](key);
    const state = kept('metadata', 'uppy');
    state.onsuccess = () => {
      const files = kept('files');
      files.onsuccess = () => {
        opening.result.close();
        resolve([files.result, String(state.result?.metadata)].join());
      };
    };
  };
});
if (location.hash === '#again') {
  uppy.once('restored', () => uppy.emit('restore-confirmed'));
} else {
  uppy.addFile({ name: file.name, type: file.type, data: file });
  await uppy.upload();
}
`;

async function pageScript(t: Test, server: string, token: string): Promise<string> {
  const samples = new Map(await browserSamples());
  const sample = samples.get('Uppy to the bucket') ?? '';
  const restoring = '.use(GoldenRetriever, { indexedDB: { maxFileSize: 1e9, maxTotalSize: 1e9 } })';
  const code = sample
    .replace('http://127.0.0.1:8080', server)
    .replace('16 * 1024 * 1024', '5 * 1024 * 1024')
    .replace('.use(AwsS3,', `${restoring}.use(AwsS3,`)
    .replace(/^uppy\.addFile[\s\S]*/m, ending);
  const variables = `const token = '${token}';\nconst file = new File([${content}], 'film.txt', { type: 'text/plain' });`;
  const imported = `import GoldenRetriever from '@uppy/golden-retriever';\n${code}`;
  return bundledSample(imported, await temporaryFolder(t), variables);
}

async function servePage(t: Test, script: string): Promise<string> {
  const pages = createServer((request, response) => {
    const isScript = request.url === '/sample.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><body><script type="module" src="/sample.js"></script>');
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  t.teardown(() => pages.close());
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`;
}

/** The number of the part that an address is for. */
function partIn(url: string): number | null {
  const [, ofBucket, ofGateway] = /[?&]partNumber=(\d+)|\/direct\/[^/]+\/(\d+)\?/.exec(url) ?? [];
  const number = ofBucket ?? ofGateway;
  return number === undefined ? null : Number(number);
}

/** The link that the sample shows. */
function linkOf(page: Page): Promise<string> {
  return new Promise((resolve, reject) => {
    page.on('console', (message) => {
      if (message.text().startsWith('http')) resolve(message.text());
    });
    page.on('pageerror', (error) => reject(error));
  });
}

t.before(allowPages);

t.test('an upload goes on after a cut, and after a reload of the page', { timeout: 120_000 }, async (t) => {
  const sluice = await sluiceFor(t, { env: testedS3 });
  const address = await servePage(t, await pageScript(t, sluice.baseUrl, sluice.token));
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const sent: number[] = [];
  let isHeld = (): void => {};
  const held = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  await page.route(
    ({ href }) => partIn(href) !== null,
    async (route) => {
      const number = route.request().method() === 'PUT' ? partIn(route.request().url()) : null;
      if (number === null) return route.continue();
      sent.push(number);
      const times = sent.filter((one) => one === number).length;
      if (number === 2 && times === 1) return route.abort('connectionreset');
      // never answered: the page is reloaded
      if (number === 3 && times === 1) return isHeld();
      return route.continue();
    },
  );
  const link = linkOf(page);
  await page.goto(address);
  await held;
  await page.waitForFunction('kept().then((text) => /^1,.*direct/.test(text))');
  await page.evaluate("location.hash = 'again'");
  await page.reload();
  const stored = await fetch(await link);
  t.strictSame(sent, [1, 2, 2, 3, 3, 4, 5]);
  t.ok((await stored.text()) === Array.from({ length: 3_000_000 }, (_, place) => place).join());
});
