/** Members, sessions and the end of an account, as a person meets them; axe on each new page. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { openConsole, person, register } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { seriousFindings } from '../services/records-browser.ts';

const server = await openConsole({ env: { REGISTRATION: 'first' } });
t.teardown(() => server.close());

const sizes = { wide: { width: 1400, height: 900 }, narrow: { width: 390, height: 800 } } as const;

/** Nothing serious by axe, and nothing wider than the screen, on a wide and on a narrow one. */
async function check(t: Test, page: Page, name: string): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    await page.waitForLoadState('networkidle');
    t.strictSame(await seriousFindings(page), [], `${name}: ${size}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    t.ok(wide <= 0, `${name} fits on a screen that is ${size}`);
  }
  await page.setViewportSize(sizes.wide);
}

const main = (page: Page) => page.getByRole('navigation', { name: 'Main' });
const owner = await server.open({ viewport: sizes.wide, reducedMotion: 'reduce' });
const member = await server.open({ viewport: sizes.wide, reducedMotion: 'reduce' });
const ben = { email: 'ben@example.com', password: 'a horse of another colour' };

t.test('an invitation, whose link is shown once', async (t) => {
  const { page, problems } = owner;
  await register(server, page);
  await main(page).getByRole('link', { name: 'Members' }).click();
  await page.getByRole('heading', { name: 'Members' }).waitFor();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('Email').fill(ben.email);
  await page.getByLabel('Projects').fill('shop');
  await page.getByLabel('delete records').uncheck();
  await page.getByText(/The member may do everything but .*delete records.* in shop\./).waitFor();
  await check(t, page, 'invite');
  await page.getByRole('button', { name: 'Make the invitation' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send this link' });
  await dialog.waitFor();
  await check(t, page, 'invitation-link');
  const link =
    (await dialog
      .getByText(/\/_console_\/invitation#sluice_link_/)
      .first()
      .textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /ben@example\.com/ }).waitFor();
  await check(t, page, 'members');
  t.strictSame(problems, []);

  await member.page.goto(link.trim());
  await member.page.getByRole('heading', { name: 'You are invited' }).waitFor();
  t.notMatch(member.page.url(), /sluice_link_/, 'the token leaves the address at once');
  await check(t, member.page, 'invitation');
});

t.test('the invited person registers where registration is closed, and gets what was granted', async (t) => {
  const { page, problems } = member;
  await page.getByLabel('Password', { exact: true }).fill(ben.password);
  await page.getByRole('button', { name: 'Create the account and join' }).click();
  await main(page).waitFor();
  await eventuallyEqual(t, () => main(page).getByRole('link').allTextContents(), [
    'Projects',
    'Webhooks',
    'Usage',
    'Account',
  ]);
  const choice = page.getByLabel('Account', { exact: true });
  t.equal(await choice.locator('option:checked').textContent(), person.email);
  await choice.selectOption({ label: ben.email });
  await main(page).getByRole('link', { name: 'Tokens' }).waitFor();
  await choice.selectOption({ label: person.email });
  await main(page).getByRole('link', { name: 'Tokens' }).waitFor({ state: 'detached' });
  await main(page).getByRole('link', { name: 'Account' }).click();
  await page.getByRole('heading', { name: `Leave the account of ${person.email}` }).waitFor();
  await check(t, page, 'account-of-a-member');
  // a member for one project may not list all
  problems.splice(0);
});

t.test('other grants, and the end of a membership', async (t) => {
  const { page, problems } = owner;
  await page.reload();
  await page.getByRole('button', { name: 'Change ben@example.com' }).click();
  await page.getByLabel('manage tokens and members').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('and manage tokens and members').waitFor();
  await page.getByRole('button', { name: 'Remove ben@example.com' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove the member' }).click();
  await page.getByText('ben@example.com removed.').waitFor();
  t.strictSame(problems, []);
  await member.page.reload();
  await member.page.getByRole('heading', { name: 'You are no longer a member of this account' }).waitFor();
  await check(t, member.page, 'no-member');
  await member.page.getByRole('button', { name: 'Go to your own account' }).click();
  await main(member.page).getByRole('link', { name: 'Members' }).waitFor();
});

t.test('sessions are listed, and all others end', async (t) => {
  const { page, problems } = member;
  const elsewhere = await server.open();
  await elsewhere.page.goto(server.url('/account'));
  await elsewhere.page.getByLabel('Email').fill(ben.email);
  await elsewhere.page.getByLabel('Password', { exact: true }).fill(ben.password);
  await elsewhere.page.getByRole('button', { name: 'Log in' }).click();
  await elsewhere.page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
  await page.goto(server.url('/account'));
  await page.getByRole('row', { name: /Chrome on Linux.*this one/ }).waitFor();
  problems.splice(0);
  await check(t, page, 'account');
  await page.getByRole('button', { name: 'End all others' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End them' }).click();
  await page.getByText('All other sessions have ended.').waitFor();
  await elsewhere.page.getByRole('link', { name: 'Tokens' }).click();
  await elsewhere.page.getByRole('heading', { name: 'Log in' }).waitFor();
  t.strictSame(problems, []);
});

t.test('another address, and then the end of the account', async (t) => {
  const { page, problems } = member;
  await page.getByLabel('New email').fill('benjamin@example.com');
  const form = page.getByRole('region', { name: 'Change the email address' });
  await form.getByLabel('Your password').fill(ben.password);
  await form.getByRole('button', { name: 'Change the address' }).click();
  await page.getByText('Email address changed.').waitFor();
  await page.getByRole('button', { name: 'Delete the account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Your password').fill(ben.password);
  t.ok(await dialog.getByRole('button', { name: 'Delete everything' }).isDisabled());
  await dialog.getByLabel('Type benjamin@example.com to confirm').fill('benjamin@example.com');
  await check(t, page, 'delete-account');
  await dialog.getByRole('button', { name: 'Delete everything' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  t.strictSame(problems, []);
  await page.getByLabel('Email').fill('benjamin@example.com');
  await page.getByLabel('Password', { exact: true }).fill(ben.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('The e-mail address or the password is wrong').waitFor();
  await owner.page.goto(server.url('/projects'));
  await main(owner.page).waitFor();
  await page.context().close();
  await owner.page.context().close();
});
