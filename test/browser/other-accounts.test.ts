/** What one account leaves in a browser for the next one: nothing. And what a page of another origin can frame: nothing. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { makeToken, openConsole, person, register } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { upload } from '../services/fill-console.ts';
import { call, structureOf } from '../services/record-client.ts';

const server = await openConsole({ env: { REGISTRATION: 'open' } });
t.teardown(() => server.close());

t.test('the next account in the same window sees nothing of the one before', async (t) => {
  const { page, problems } = await server.open();
  await register(server, page);
  const token = await makeToken(server, page, 'token of ada');
  const { baseUrl } = server.sluice;
  await upload(server, token, { project: 'hers', file: new File(['x'], 'secret.txt') });
  const structure = structureOf('hers', 'people', [{ name: 'word', type: 'TEXT' }]);
  t.equal(
    (await call({ baseUrl, token, path: '/hers/people', structure, body: [{ word: 'secret' }] })).status,
    200,
  );
  const places: readonly (readonly [path: string, hers: string, none: string])[] = [
    ['/projects', 'hers', 'No projects yet'],
    ['/projects/hers', 'people', 'There is no project'],
    ['/projects/hers/files', 'secret.txt', 'No files yet'],
    ['/projects/hers/spaces/people', 'secret', 'does not exist'],
    ['/tokens', 'token of ada', 'No access tokens yet'],
  ];
  const main = page.locator('#main');
  for (const [path, hers] of places) {
    await page.goto(server.url(path));
    await main.getByText(hers, { exact: true }).first().waitFor();
  }
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  // without loading the app anew: what it keeps in memory would be there still
  await page.getByRole('link', { name: 'Register' }).click();
  await page.getByRole('button', { name: 'Create a new account instead' }).click();
  await page.getByLabel('Email').fill('eve@example.com');
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.getByRole('heading', { name: 'No projects yet' }).waitFor();
  t.strictSame(problems.splice(0), []);
  for (const [path, , none] of places) {
    await page.evaluate(
      `history.pushState(null, '', '/_console_${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await main.getByText(none).first().waitFor();
    t.equal(await main.getByText('secret').count(), 0, path);
    t.equal(await main.getByText('token of ada').count(), 0, path);
  }
});

t.test('a page of another origin can not frame the console', async (t) => {
  const other = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<iframe src="${server.url('/login')}" title="framed"></iframe>`);
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const { page, problems } = await server.open();
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const refusal = /frame-ancestors|X-Frame-Options|refused to connect/i;
  await eventuallyEqual(t, () => problems.some((problem) => refusal.test(problem)), true, 'it is refused');
  t.equal(await page.frameLocator('iframe').getByLabel('Email').count(), 0);
});
