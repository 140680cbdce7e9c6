/** A person logs in to the dashboard at a provider. */
import t from 'tap';
import { openConsole, person, register } from '../services/console-browser.ts';
import { client, startOidcProvider } from '../services/real-oidc-provider.ts';
import { seriousFindings } from '../services/records-browser.ts';
import { runToEnd } from '../services/start-sluice.ts';

const provider = await startOidcProvider(t);
const server = await openConsole({
  env: { OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: client.id, OIDC_CLIENT_SECRET: client.secret },
});
t.teardown(() => server.close());
provider.serve(server.url('/api/oidc/callback'));

t.test('a button leads to the provider and back', async (t) => {
  const { page: first } = await server.open();
  await register(server, first);
  const { page } = await server.open({ reducedMotion: 'reduce', viewport: { width: 390, height: 800 } });
  const button = page.getByRole('link', { name: `Log in with ${new URL(provider.issuer).host}` });
  await page.goto(server.url('/login'));
  await button.waitFor();
  t.strictSame(await seriousFindings(page), []);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/oidc-390.png` });
  provider.logInAs('eve', { email: 'eve@example.com', email_verified: true });
  await button.click();
  await page.getByRole('alert').getByText('There is no account with the e-mail address').waitFor();
  // the provider would remember eve
  const { page: other } = await server.open();
  provider.logInAs('ada', { email: person.email, email_verified: true });
  await other.goto(server.url('/login'));
  await other.getByRole('link', { name: /^Log in with/ }).click();
  await other.getByRole('navigation', { name: 'Main' }).waitFor();
  t.equal(new URL(other.url()).pathname.startsWith('/_console_'), true);
});

t.test('an account without a password is deleted after another login', async (t) => {
  const email = 'grace@example.com';
  await runToEnd('cli/token.ts', ['--user', email, '--create-user'], { DATA_DIR: server.sluice.dataDir });
  provider.logInAs('grace', { email, email_verified: true });
  const { page, problems } = await server.open({ reducedMotion: 'reduce' });
  await page.goto(server.url('/login'));
  await page.getByRole('link', { name: /^Log in with/ }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  await page.goto(server.url('/account'));
  await page.getByRole('heading', { name: 'Set a password' }).waitFor();
  const deletion = page.getByRole('dialog', { name: `Delete the account of ${email}?` });
  const confirm = /^Log in at .* again$/;
  await page.getByRole('button', { name: 'Delete the account' }).click();
  t.equal(await deletion.getByLabel('Your password').count(), 0);
  await deletion.getByRole('link', { name: confirm }).click();
  await page
    .getByText(/which confirms this for five minutes/)
    .first()
    .waitFor();
  t.equal(await page.getByRole('link', { name: confirm }).count(), 0);
  t.strictSame(await seriousFindings(page), []);
  await page.getByRole('button', { name: 'Delete the account' }).click();
  await deletion.getByLabel(`Type ${email} to confirm`).fill(email);
  await deletion.getByRole('button', { name: 'Delete everything' }).click();
  await page.getByText('Your account was deleted').waitFor();
  const atProvider = `asks ${provider.issuer}/`;
  t.strictSame(
    problems.filter((problem) => !problem.startsWith(atProvider)),
    [],
  );
});
