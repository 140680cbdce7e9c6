/** The example of docs/live.md, as a reader would copy it: two pages in Chromium that watch the same find. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

/** What the page shows, and draws again ten times a second. */
const drawing = `
  watch();
  setInterval(() => {
    const names = [...records.values()].map(({ name, city }) => name + ' of ' + city).sort();
    document.body.textContent = names.join(', ') || 'nobody';
  }, 100);
`;

t.test('two windows see records come, change and go', async (t) => {
  const sluice = await sluiceFor(t);
  const text = await readFile(join(import.meta.dirname, '../../docs/live.md'), 'utf8');
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const known = `const url = ${JSON.stringify(sluice.baseUrl)}; const token = ${JSON.stringify(sluice.token)};`;
  const pages = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<body></body><script>${known}${code}${drawing}</script>`);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const { port } = pages.address() as AddressInfo;
  const browser = await launchChromium();
  t.teardown(async () => {
    await browser.close();
    pages.close();
  });
  const headers = {
    authorization: `Bearer ${sluice.token}`,
    'content-type': 'application/json',
    structure: structureOf('demo', 'people', fieldsOf('name TEXT', 'city TEXT')),
  };
  const send = async (method: string, path: string, body?: object): Promise<{ id: string }> => {
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${sluice.baseUrl}/demo/people${path}`, { method, headers, ...given });
    t.equal(answer.status, 200, `${method} ${path}`);
    return (await answer.json()) as { id: string };
  };
  const ada = await send('POST', '/_single_', { name: 'Ada', city: 'London' });
  const open = async (): Promise<Page> => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    return page;
  };
  const windows = [await open(), await open()];
  const see = async (wanted: string): Promise<void> => {
    for (const page of windows) await page.getByText(wanted, { exact: true }).waitFor();
    t.pass(wanted);
  };
  await see('Ada of London');
  const grace = await send('POST', '/_single_', { name: 'Grace', city: 'New York' });
  await send('POST', '/_single_', { name: 'Alan', city: 'London' });
  await see('Ada of London, Alan of London');
  await send('POST', `/update-by-id?id=${grace.id}`, { city: 'London' });
  await see('Ada of London, Alan of London, Grace of London');
  await send('POST', `/update-by-id?id=${ada.id}`, { city: 'Ockham' });
  await see('Alan of London, Grace of London');
  await send('DELETE', `?id=${grace.id}`);
  await see('Alan of London');
  if (process.env.SCREENSHOT) await windows[0]?.screenshot({ path: process.env.SCREENSHOT });
  await send('DELETE', '/clear-records');
  await see('nobody');
});
