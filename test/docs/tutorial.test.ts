/** docs/tutorial.md, as a reader would follow it: each of its commands, and the page after each step. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t from 'tap';
import { buildClient } from '../services/build-client.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const tutorial = await readFile(join(root, 'docs/tutorial.md'), 'utf8');
// one pixel
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** A checkout in which the reader may write. */
async function newCheckout(folder: string): Promise<void> {
  for (const name of await readdir(root))
    if (!['examples', 'data', '.git'].includes(name)) await symlink(join(root, name), join(folder, name));
  await mkdir(join(folder, 'examples'));
  await cp(join(root, 'examples/wall'), join(folder, 'examples/wall'), { recursive: true });
}

t.test('the wall of the tutorial', { timeout: 240_000 }, async (t) => {
  await buildClient();
  const sluice = await sluiceFor(t);
  const port = await freePort();
  const checkout = await temporaryFolder(t);
  await newCheckout(checkout);
  const commands = [...tutorial.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = '']) =>
    code
      .replaceAll('http://127.0.0.1:8080', sluice.baseUrl)
      .replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`)
      .replaceAll('http.server 8000', `http.server ${port}`),
  );
  t.equal(commands.length, 9);
  const [start, tokens, spaces, db, page, serve, users, uploads, finish] = commands as [
    ...[string, string, string, string, string, string, string, string, string],
  ];
  t.equal(start, 'npm ci && npm start\n');
  const { NODE_OPTIONS: _runner, ...clean } = process.env;
  const env = { ...clean, DATA_DIR: sluice.dataDir };
  const enter = (code: string) => run('bash', ['-euc', code], { cwd: checkout, env });
  await t.rejects(enter(spaces.replace('node ', 'TOKEN= node ')), {
    code: 1,
    stderr: /^Set TOKEN and PAGE_TOKEN to the two access tokens.*\n$/,
  });
  const { stdout } = await enter(tokens + spaces);
  t.equal(stdout.trim(), `The wall is set up on ${sluice.baseUrl}.`);
  await enter(db + page);
  const server = spawn('bash', ['-c', `exec ${serve}`], { cwd: checkout, env, stdio: 'ignore' });
  t.teardown(async () => {
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  });
  const origin = `http://127.0.0.1:${port}/`;
  const isServed = () =>
    fetch(origin).then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventuallyEqual(t, isServed, true);
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const problems: string[] = [];
  const open = async (): Promise<Page> => {
    const tab = await (await browser.newContext()).newPage();
    // routes switch the cache off: python's server does not notice a second change within a second
    await tab.route(`${origin}**`, (route) => route.continue());
    tab.on('pageerror', (error) => void problems.push(String(error)));
    await tab.goto(origin);
    return tab;
  };
  const [one, other] = [await open(), await open()];

  await enter(users);
  await one.reload();
  await one.getByText('Nobody is logged in').waitFor();
  await one.getByLabel('Name').fill('ada');
  await one.getByLabel('Password').fill('correct horse');
  await one.getByRole('button', { name: 'Sign up' }).click();
  await one.getByText('You are ada').waitFor();
  await one.evaluate(`localStorage.login = '${'x'.repeat(20)}'`);
  await one.reload();
  await one.getByText('Nobody is logged in').waitFor();
  t.equal(await one.evaluate('localStorage.login'), undefined, 'a login that has ended is forgotten');
  await one.getByLabel('Name').fill('ada');
  await one.getByLabel('Password').fill('correct horse');
  await one.getByRole('button', { name: 'Log in' }).click();
  await one.getByText('You are ada').waitFor();
  await enter(uploads);
  await one.reload();
  await one.getByText('You are ada').waitFor();
  const file = join(checkout, 'examples/one.png');
  await writeFile(file, picture);
  await one.getByLabel('Photos and videos').setInputFiles(file);
  await other.locator('main img').waitFor();

  const [, code = ''] = /^```js\n(const \{ client, db[\s\S]*?)^```$/m.exec(tutorial) ?? [];
  const remove = `(async () => { ${code} })().then(() => 'deleted', ({ code }) => code)`;
  t.equal(await other.evaluate(remove), 'no_match', 'a visitor');
  t.equal(await one.evaluate(remove), 'deleted');
  await other.locator('main img').waitFor({ state: 'detached' });

  await enter(finish);
  await one.reload();
  await one.getByRole('button', { name: 'Log out' }).waitFor();
  await one.getByLabel('Add photos and videos').setInputFiles(file);
  await one.getByRole('button', { name: 'Delete' }).waitFor();
  await other.locator('main img').waitFor();
  t.strictSame(problems, []);
});
