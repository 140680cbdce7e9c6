/** examples/wall in Chromium: two tabs, a reload in the middle of an upload, and what each user may do. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { buildClient } from '../services/build-client.ts';
import { drawnFiles } from '../services/drawn-files.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const patience = 60_000;
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
};

/** Sets the wall up as docs/tutorial.md does, and serves its folder as any static server would. */
async function serveWall(t: Test, sluice: Sluice): Promise<string> {
  const folder = await temporaryFolder(t);
  const wall = join(folder, 'examples/wall');
  await mkdir(wall, { recursive: true });
  await cp(join(root, 'examples/wall'), wall, { recursive: true });
  await symlink(join(root, 'client'), join(folder, 'client'));
  const files = createServer((request, response) => {
    const name = request.url === '/' ? '/index.html' : (request.url ?? '');
    readFile(join(wall, name)).then(
      (bytes) => response.setHeader('content-type', types[extname(name)] ?? '').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  t.teardown(() => files.close());
  const origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  const { stdout } = await runToEnd('cli/token.ts', ['--publishable', '--origin', origin], {
    DATA_DIR: sluice.dataDir,
  });
  const { NODE_OPTIONS: _runner, ...clean } = process.env;
  const env = { ...clean, TOKEN: sluice.token, PAGE_TOKEN: stdout.trim() };
  await run(process.execPath, [join(wall, 'setup.js'), sluice.baseUrl], { env });
  return origin;
}

async function open(browser: Browser, url: string): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => void problems.push(String(error)));
  await page.goto(url);
  return { page, problems };
}

async function enter(page: Page, name: string, button: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(`the password of ${name}`);
  await page.getByRole('button', { name: button }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
}

const cards = (page: Page) => page.locator('#posts figure');
/** Until so many posts are there, and their pictures are loaded. */
const untilShown = async (page: Page, count: number): Promise<void> => {
  await page.waitForFunction(
    `document.querySelectorAll('#posts figure').length === ${count} &&
      [...document.querySelectorAll('#posts img')].every((image) => image.naturalWidth > 0)`,
    null,
    { timeout: patience },
  );
};

/** WALL_SHOTS=folder keeps the pictures. */
async function shoot(t: Test, page: Page, name: string): Promise<void> {
  const folder = process.env.WALL_SHOTS ?? (await temporaryFolder(t));
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1400, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate('scrollTo(0, 0)');
      await page.screenshot({ path: join(folder, `wall-${name}-${width}-${colorScheme}.png`) });
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `fits into ${width}`);
    }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1400, height: 900 });
}

t.test('a wall of two users', { timeout: 300_000 }, async (t) => {
  await buildClient();
  const sluice = await sluiceFor(t);
  const origin = await serveWall(t, sluice);
  const browser = await launchChromium({ timeout: patience });
  t.teardown(() => browser.close());
  const [ada, bob] = [await open(browser, origin), await open(browser, origin)];
  await bob.page.getByText('Nothing here yet').waitFor();
  const { pictures, film } = await drawnFiles(ada.page, await temporaryFolder(t));

  await t.test('a photo is there in the other tab at once', async (t) => {
    await enter(ada.page, 'ada', 'Sign up');
    await ada.page.getByLabel('Add photos and videos').setInputFiles(pictures);
    await untilShown(bob.page, pictures.length);
    await untilShown(ada.page, pictures.length);
    t.match(await cards(bob.page).first().textContent(), /^ada/);
    await enter(bob.page, 'bob', 'Sign up');
    await bob.page.getByLabel('Add photos and videos').setInputFiles(pictures[2] as string);
    await untilShown(ada.page, pictures.length + 1);
    t.equal(await ada.page.getByRole('button', { name: 'Delete' }).count(), pictures.length);
    t.equal(await bob.page.getByRole('button', { name: 'Delete' }).count(), 1, 'only of own posts');
  });

  await t.test('a film resumes after a reload in the middle', async (t) => {
    const offsets: string[] = [];
    let held = (): void => {};
    const isHeld = new Promise<void>((resolve) => {
      held = resolve;
    });
    let holds = true;
    await ada.page.route('**/_f_/wall/resumable/**', (route) => {
      const request = route.request();
      const offset = request.headers()['upload-offset'];
      if (request.method() === 'PATCH') offsets.push(`${offset}`);
      if (request.method() !== 'PATCH' || offset === '0' || !holds) return route.continue();
      // never answered, as on a connection that is lost
      return held();
    });
    await ada.page.getByLabel('Add photos and videos').setInputFiles(film);
    await isHeld;
    t.strictSame(offsets, ['0', `${2 ** 23}`]);
    await shoot(t, ada.page, 'upload');
    const second = await ada.page.context().newPage();
    await second.goto(origin);
    await second.getByRole('button', { name: 'Log out' }).waitFor();
    // the notes of this tab are drawn
    await second.evaluate('navigator.locks.query()');
    t.equal(await second.locator('#uploads li').count(), 0, 'another tab shows no note');
    await second.close();
    holds = false;
    await ada.page.reload();
    await ada.page.getByText('film.webm stopped. Choose it again to continue.').waitFor();
    await ada.page.getByText('ada', { exact: true }).first().waitFor();
    offsets.length = 0;
    await ada.page.getByLabel('Add photos and videos').setInputFiles(film);
    await untilShown(bob.page, pictures.length + 2);
    t.equal(offsets[0], `${2 ** 23}`, 'what was stored is not sent again');
    await bob.page.waitForFunction("document.querySelector('video').videoWidth > 0");
    t.equal(await ada.page.locator('#uploads li').count(), 0);
  });

  await t.test('a note can be dismissed, and a refused file leaves none', async (t) => {
    await ada.page.evaluate(`localStorage.stopped = '["lost.webm"]'`);
    await ada.page.reload();
    await ada.page.getByText('lost.webm stopped').waitFor();
    await ada.page.getByRole('button', { name: 'Dismiss' }).click();
    await ada.page.locator('#uploads li').waitFor({ state: 'detached' });
    const refused = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no photo') };
    await ada.page.getByLabel('Add photos and videos').setInputFiles(refused);
    await ada.page.getByRole('alert').getByText('not text/plain').waitFor();
    await ada.page.locator('#uploads li').waitFor({ state: 'detached' });
    t.equal(await ada.page.evaluate('localStorage.stopped'), '[]');
  });

  await t.test('users delete what is theirs, with its file', async (t) => {
    const card = cards(ada.page)
      .filter({ has: ada.page.locator('img') })
      .last();
    const address = (await card.locator('img').getAttribute('src')) as string;
    t.equal((await fetch(address)).status, 200);
    await card.getByRole('button', { name: 'Delete' }).click();
    await untilShown(bob.page, pictures.length + 1);
    await eventuallyEqual(t, async () => (await fetch(address)).status, 404);
  });

  await t.test('a login that ended elsewhere leads to the form for another one', async (t) => {
    const { page } = ada;
    const second = await page.context().newPage();
    await second.goto(origin);
    await second.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await enter(second, 'ada', 'Log in');
    await page.getByRole('button', { name: 'Log out' }).waitFor();
    await second.close();
    // on another device, as far as this browser knows
    const login = await page.evaluate('localStorage.login');
    const [token, db] = [JSON.stringify(login), `${origin}/config.js`];
    await page.evaluate(`(async () => {
      const { default: { server, token } } = await import(${JSON.stringify(db)});
      const { connect, logout, space, text } = await import(server + '/_client_/sluice-client.js');
      await logout(connect({ url: server, token, project: 'wall', user: ${token} }), space('users', { name: text() }));
    })()`);
    await cards(page).getByRole('button', { name: 'Delete' }).first().click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    t.equal(await page.evaluate('localStorage.login'), undefined);
    await enter(page, 'ada', 'Log in');
    // its own posts are live again, also for the tab whose login ended
    await bob.page.getByLabel('Add photos and videos').setInputFiles(pictures[0] as string);
    await untilShown(page, pictures.length + 2);
    await cards(bob.page).getByRole('button', { name: 'Delete' }).first().click();
    await untilShown(page, pictures.length + 1);
  });

  await t.test('a login lasts over a reload, and ends', async (t) => {
    await bob.page.reload();
    await bob.page.getByRole('button', { name: 'Log out' }).click();
    await bob.page.getByRole('button', { name: 'Log in' }).waitFor();
    t.equal(await bob.page.evaluate('localStorage.login'), undefined);
    await untilShown(bob.page, pictures.length + 1);
    t.equal(await bob.page.getByRole('button', { name: 'Delete' }).count(), 0);
    await bob.page.getByLabel('Name').fill('bob');
    await bob.page.getByLabel('Password').fill('wrong');
    await bob.page.getByRole('button', { name: 'Log in' }).click();
    await bob.page.getByRole('alert').getByText('Wrong user name or password').waitFor();
    await shoot(t, bob.page, 'login');
  });
  t.strictSame([ada.problems, bob.problems], [[], []]);
});
