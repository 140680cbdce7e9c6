/** The example of docs/security.md, as a reader would copy it: a page with a publishable token, in Chromium. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

t.test('users sign up, keep notes, and see those of others that are public', async (t) => {
  const sluice = await sluiceFor(t);
  const folder = await temporaryFolder(t);
  const text = await readFile(join(root, 'docs/security.md'), 'utf8');
  const [script, html] = ['js', 'html'].map((language) => {
    const [, code = ''] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text) ?? [];
    return code.replaceAll('http://127.0.0.1:8080', sluice.baseUrl);
  }) as [string, string];
  const file = join(folder, 'set-up.mjs');
  await writeFile(file, script);
  await run(process.execPath, [file], { env: { ...process.env, TOKEN: sluice.token } });

  const pages = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.statusCode = request.url === '/' ? 200 : 404;
    response.end(html.replace('THE PUBLISHABLE TOKEN', token));
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const { port } = pages.address() as AddressInfo;
  const order = ['--publishable', '--origin', `http://127.0.0.1:${port}`];
  const { stdout } = await run('node', ['--import', 'tsx', 'cli/token.ts', ...order], {
    cwd: root,
    env: { ...process.env, DATA_DIR: sluice.dataDir },
  });
  const token = stdout.trim();
  const browser = await launchChromium();
  t.teardown(async () => {
    await browser.close();
    pages.close();
  });
  const open = async (host = '127.0.0.1'): Promise<Page> => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://${host}:${port}/`);
    return page;
  };
  const notes = (page: Page) => page.getByRole('listitem').allTextContents();
  const enter = async (page: Page, name: string, button: string): Promise<void> => {
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Password').fill(`the password of ${name}`);
    await page.getByRole('button', { name: button }).click();
  };
  const write = async (page: Page, note: string, isPublic: boolean): Promise<void> => {
    await page.getByLabel('Note').fill(note);
    await page.getByLabel('public').setChecked(isPublic);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(note).waitFor();
  };
  const ada = await open();
  await enter(ada, 'ada', 'Sign up');
  await write(ada, 'for everybody', true);
  await write(ada, 'for me', false);
  t.strictSame(await notes(ada), ['for me', 'for everybody']);
  if (process.env.SCREENSHOT) await ada.screenshot({ path: process.env.SCREENSHOT });
  const bob = await open();
  await bob.getByText('for everybody').waitFor();
  t.strictSame(await notes(bob), ['for everybody'], 'a stranger');
  await enter(bob, 'bob', 'Sign up');
  await write(bob, 'of bob', false);
  t.strictSame(await notes(bob), ['of bob', 'for everybody']);
  await enter(bob, 'ada', 'Sign up');
  await bob.getByRole('alert').getByText('already exists').waitFor();
  const again = await open();
  await enter(again, 'ada', 'Log in');
  await again.getByText('for me').waitFor();
  t.strictSame(await notes(again), ['for me', 'for everybody']);
  const elsewhere = await open('localhost');
  await elsewhere.getByRole('alert').getByText('is not for pages of').waitFor();
});
