/** Accounts and sessions as a person meets them: claiming, wrong passwords, another password, a session that ended elsewhere. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { logIn, openConsole, person } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { upload } from '../services/fill-console.ts';
import { acceptanceToken } from '../services/start-sluice.ts';

const server = await openConsole();
t.teardown(() => server.close());
const next = 'another battery staple';

const main = (page: Page) => page.getByRole('navigation', { name: 'Main' });

t.test('the account of the first start is claimed, with its data', async (t) => {
  const note = new File(['before'], 'before.txt', { type: 'text/plain' });
  await upload(server, acceptanceToken, { project: 'older', file: note });
  const { page, problems } = await server.open();
  await page.goto(server.url('/register?claim'));
  await page.getByLabel('First access token').fill('not the token of this server');
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Claim the account' }).click();
  await page.getByRole('alert').getByText('This is not an access token of the first account.').waitFor();
  await eventuallyEqual(t, () => problems.length, 1, 'the refusal alone');
  problems.splice(0);
  await page.getByLabel('First access token').fill(acceptanceToken);
  await page.getByRole('button', { name: 'Claim the account' }).click();
  await main(page).waitFor();
  await page.goto(server.url('/projects/older/files'));
  await page.getByRole('row', { name: /before\.txt/ }).waitFor();
  t.strictSame(problems, []);
  await page.context().close();
});

t.test('nobody else registers, and a wrong password says so without naming which', async (t) => {
  const { page } = await server.open();
  await page.goto(server.url('/register'));
  await page.getByRole('heading', { name: 'Registration is closed' }).waitFor();
  await page.goto(server.url('/account?from=mail'));
  await logIn(page, 'wrong password');
  await page.getByRole('alert').getByText(/./).first().waitFor();
  await logIn(page);
  await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
  await eventuallyEqual(t, () => page.url(), server.url('/account?from=mail'), 'the page that was asked for');
  await page.context().close();
});

t.test('another password ends the other sessions, and this one goes on', async (t) => {
  const here = await server.open();
  const there = await server.open();
  for (const { page } of [here, there]) {
    await page.goto(server.url('/account'));
    await logIn(page);
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
  }
  await here.page.getByLabel('Current password').fill(person.password);
  await here.page.getByLabel('New password').fill(next);
  await here.page.getByRole('button', { name: 'Change the password' }).click();
  await here.page.getByText('Password changed.').waitFor();
  await main(here.page).getByRole('link', { name: 'Tokens' }).click();
  await here.page.getByRole('button', { name: 'New token' }).first().click();
  await here.page.getByLabel('Name').fill('after the change');
  await here.page.getByRole('button', { name: 'Create the token' }).click();
  await here.page.getByRole('dialog', { name: 'Copy the token now' }).waitFor();
  t.strictSame(here.problems, []);

  await main(there.page).getByRole('link', { name: 'Tokens' }).click();
  await there.page.getByRole('heading', { name: 'Log in' }).waitFor();
  await logIn(there.page, next);
  await there.page.getByRole('heading', { name: 'Access tokens' }).waitFor();
});

t.test('a token is made for some things alone, and says so', async (t) => {
  const { page, problems } = await server.open();
  await page.goto(server.url('/tokens'));
  await logIn(page, next);
  await page.getByRole('button', { name: 'New token' }).first().click();
  await page.getByLabel('Name').fill('reader');
  await page.getByText('Limit what it may do').click();
  const others = ['insert records', 'change records', 'delete records', 'delete files', 'see the usage'];
  for (const grant of [...others, 'upload files']) await page.getByLabel(grant, { exact: true }).uncheck();
  await page.getByLabel('Projects').fill('shop, blog');
  await page.getByRole('textbox', { name: 'Record spaces' }).fill('orders');
  await page.getByText(/^The token may read records, .* in orders of shop and blog\.$/).waitFor();
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
  await page.getByRole('button', { name: 'Create the token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Copy the token now' });
  const token = (await dialog.locator('code').first().textContent()) ?? '';
  // it was an upload to a project that the token does not reach
  await dialog.getByText('Reads a record of orders in the project “shop”.').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /reader may read records, / }).waitFor();
  const ask = async (path: string) =>
    (await fetch(`${server.sluice.baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  t.equal(await ask('/shop/orders/openapi.json'), 404, 'it is let in, and there is no such space');
  t.equal(await ask('/shop/people/openapi.json'), 403);
  t.equal(await ask('/_usage_'), 403);
  t.strictSame(problems, []);
});

t.test('the theme is kept', async (t) => {
  const { page } = await server.open({ colorScheme: 'light' });
  await page.goto(server.url('/login'));
  await page.getByLabel('Theme: dark').check({ force: true });
  const ground = 'getComputedStyle(document.documentElement).backgroundColor';
  await eventuallyEqual(t, () => page.evaluate(ground), 'rgb(16, 21, 23)');
  await page.reload();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await eventuallyEqual(t, () => page.evaluate(ground), 'rgb(16, 21, 23)');
  await page.getByLabel('Theme: system').check({ force: true });
  await eventuallyEqual(t, () => page.evaluate(ground), 'rgb(245, 247, 247)');
});
