/** What somebody new does in the console, on a wide screen, on one of 360 px, and by the keyboard alone. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import {
  type ConsoleBrowser,
  closeByEscape,
  logIn,
  openConsole,
  person,
  register,
  throttle,
} from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { focusOn } from '../services/focus-on.ts';
import { samplePng } from '../services/sample-media.ts';

const picture = { name: 'harbour.png', mimeType: 'image/png', buffer: samplePng(200, 1200, 900) };

for (const [screen, viewport] of Object.entries({
  'a wide screen': { width: 1280, height: 800 },
  '360 px': { width: 360, height: 720 },
})) {
  t.test(`register, token, upload, revoke, log out: ${screen}`, async (t) => {
    const server = await openConsole();
    t.teardown(() => server.close());
    const { page, problems } = await server.open({ viewport });
    await register(server, page, '/');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tokens' }).click();

    await page.getByRole('button', { name: 'New token' }).first().click();
    await page.getByLabel('Name').fill('test');
    await page.getByText('Limit the cost of its reads').click();
    await page.getByRole('textbox', { name: /^Records/ }).fill('1000000');
    await page.getByLabel('Milliseconds').fill('500');
    await page.getByRole('button', { name: 'Create the token' }).click();
    const shown = page.getByRole('dialog', { name: 'Copy the token now' });
    const token = (await shown.locator('code').first().textContent()) ?? '';
    const command = (await shown.locator('code').last().textContent()) ?? '';
    t.match(command, `Bearer ${token}`);
    await shown.getByRole('button', { name: 'Done' }).click();
    t.match(await pasted(command), { originalName: 'hello.txt' }, 'the command works as it is copied');
    t.equal(await answerTo(server, token), 200, 'the API takes the token');

    await uploadSlowly(t, server, page);
    await noSidewaysScroll(t, page);

    await page.goto(server.url('/tokens'));
    await page.getByText('reads up to 1,000,000 records, for up to 500 ms').waitFor();
    await page.getByRole('button', { name: 'Revoke test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByText('test revoked.').waitFor();
    t.equal(await answerTo(server, token), 401, 'the API takes it no more');
    t.equal(await page.getByText(token).count(), 0, 'and it is nowhere on the page');
    await noSidewaysScroll(t, page);

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.goBack();
    // where somebody comes back to after logging in
    await page.waitForURL('**/login?next=%2Ftokens');
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await logIn(page);
    await page.getByRole('heading', { name: 'Access tokens' }).waitFor();
    t.strictSame(problems, []);
  });
}

t.test(
  'a fresh server leads to the account that its token belongs to, and not to a second, empty one',
  async (t) => {
    const server = await openConsole();
    t.teardown(() => server.close());
    const { page, problems } = await server.open();
    await page.goto(server.url('/'));
    await page.getByRole('heading', { name: 'Claim the first account' }).waitFor();
    await page.getByLabel('First access token').fill(server.sluice.token);
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password', { exact: true }).fill(person.password);
    await page.getByRole('button', { name: 'Claim the account' }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tokens' }).click();
    await page.getByText('first token').first().waitFor();
    await page.goto(server.url('/account'));
    await page.getByText('Account id').waitFor();
    t.equal(await page.getByText('Name', { exact: true }).count(), 0, 'none was given');
    t.strictSame(problems, []);
  },
);

/** Sees the bar move, and then the file. */
async function uploadSlowly(t: Test, server: ConsoleBrowser, page: Page): Promise<void> {
  await page.goto(server.url('/projects/demo/files'));
  await page.getByRole('row', { name: /hello/ }).first().waitFor();
  const height = async () => (await page.locator('.side').boundingBox())?.height;
  const before = await height();
  const { slowDown } = await throttle(page);
  await slowDown(10_000);
  await page.locator('input[type=file]').first().setInputFiles(picture);
  const bar = page.getByRole('progressbar', { name: picture.name });
  await bar.waitFor();
  await until(
    t,
    page,
    '(bar => bar.value > 0 && bar.value < bar.max)(document.querySelector(".bars progress"))',
  );
  t.ok(await page.locator('.upload-status').isVisible());
  t.equal(await height(), before, 'the state of uploads moved the page');
  await slowDown(-1);
  const row = page.getByRole('row', { name: /harbour\.png/ });
  await row.waitFor();
  await row.locator('img').waitFor();
  await until(t, page, 'document.querySelector(".thumbnail img").naturalWidth > 0');
}

t.test('register, token, upload, revoke, log out: by the keyboard alone', async (t) => {
  const server = await openConsole();
  t.teardown(() => server.close());
  const { page, problems } = await server.open();
  const keys = page.keyboard;
  await page.goto(server.url('/register'));
  await focusOn(page, 'Create a new account instead');
  await keys.press('Enter');
  await page.getByRole('heading', { name: 'Create an account' }).waitFor();
  await focusOn(page, 'Email');
  await keys.type(person.email);
  await focusOn(page, 'Password');
  await keys.type(person.password);
  await keys.press('Enter');
  await page.getByRole('navigation', { name: 'Main' }).waitFor();

  await focusOn(page, 'Tokens');
  await keys.press('Enter');
  await page.getByRole('heading', { name: 'Access tokens' }).waitFor();
  await focusOn(page, 'New token');
  await keys.press('Enter');
  // the dialog begins at its first field
  await page.locator('dialog input:focus').waitFor();
  await keys.type('keys');
  await keys.press('Enter');
  const shown = page.getByRole('dialog', { name: 'Copy the token now' });
  const token = (await shown.locator('code').first().textContent()) ?? '';
  await closeByEscape(shown);
  t.equal(await answerTo(server, token), 200);

  await page.goto(server.url('/projects/demo/files'));
  await page.getByRole('row', { name: /hello/ }).first().waitFor();
  const chooser = page.waitForEvent('filechooser');
  await focusOn(page, 'Upload files');
  await keys.press('Enter');
  await (await chooser).setFiles(picture);
  await page.getByRole('row', { name: /harbour\.png/ }).waitFor();
  await focusOn(page, 'harbour.png');
  await keys.press('Enter');
  const preview = page.getByRole('dialog', { name: 'harbour.png' });
  await preview.getByRole('img').waitFor();
  await closeByEscape(preview);
  t.equal(await page.evaluate('document.activeElement.textContent'), 'harbour.png', 'back where it was');

  await focusOn(page, 'Tokens');
  await keys.press('Enter');
  await page.getByRole('row', { name: /keys/ }).waitFor();
  await focusOn(page, 'Revoke keys');
  await keys.press('Enter');
  await page.locator('dialog:focus-within').waitFor();
  await focusOn(page, 'Revoke the token');
  await keys.press('Enter');
  await page.getByText('keys revoked.').waitFor();
  t.equal(await answerTo(server, token), 401);

  await focusOn(page, 'Log out');
  await keys.press('Enter');
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  t.strictSame(problems, []);
});

/** What a terminal answers to a command. */
async function pasted(command: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  return JSON.parse(stdout);
}

/** What the API says to the token; with it the project gets a file, as by the command that the console shows. */
async function answerTo({ sluice }: ConsoleBrowser, token: string): Promise<number> {
  const body = new FormData();
  body.append('file', new File(['hello\n'], 'hello.txt'));
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${sluice.baseUrl}/_f_/demo/upload`, { method: 'POST', headers, body });
  await response.text();
  return response.status;
}

/** Waits in this process: the policy of the page lets nothing there evaluate a text by and by. */
function until(t: Test, page: Page, condition: string): Promise<void> {
  return eventuallyEqual(t, () => page.evaluate<boolean>(condition), true, condition);
}

async function noSidewaysScroll(t: Test, page: Page): Promise<void> {
  const [wide, screen] = (await page.evaluate(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )) as [number, number];
  t.ok(wide <= screen, `nothing is wider than the screen: ${wide} of ${screen}`);
}
