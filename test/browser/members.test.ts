/** Members, sessions and the end of an account, as a person meets them; axe on each new page. */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { closeByEscape, makeToken, openConsole, person, register } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
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
  await page.getByText('The member may read records and list and download files in shop.').waitFor();
  await check(t, page, 'invite');
  await page.getByRole('dialog').getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Send this link' });
  await dialog.waitFor();
  await check(t, page, 'invitation-link');
  const link =
    (await dialog
      .getByText(/\/_console_\/invitation#sluice_link_/)
      .first()
      .textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /ben@example\.com.*in 7 days/ }).waitFor();
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
  await eventuallyEqual(t, () => main(page).getByRole('link').allTextContents(), ['Projects', 'Account']);
  const choice = page.getByLabel('Account', { exact: true });
  t.equal(await choice.locator('option:checked').textContent(), person.email);
  await choice.selectOption({ label: ben.email });
  await main(page).getByRole('link', { name: 'Tokens' }).waitFor();
  await choice.selectOption({ label: person.email });
  await main(page).getByRole('link', { name: 'Tokens' }).waitFor({ state: 'detached' });
  await main(page).getByRole('link', { name: 'Account' }).click();
  await page.getByRole('heading', { name: `Leave the account of ${person.email}` }).waitFor();
  await check(t, page, 'account-of-a-member');
  t.strictSame(problems, []);
});

/** Labels of the buttons on the page itself, once its table is there. */
async function buttonsOf(page: Page, table: string): Promise<string[]> {
  await page
    .getByRole(table === 'Orders' ? 'grid' : 'table')
    .first()
    .waitFor();
  return page.locator('main').getByRole('button').allTextContents();
}

t.test(
  'a member who may read sees the projects that are granted, and no button that would be refused',
  async (t) => {
    const token = await makeToken(server, owner.page, 'for the records');
    await owner.page.goto(server.url('/members'));
    for (const project of ['shop', 'vault']) {
      const stored = await fetch(`${server.sluice.baseUrl}/${project}/orders`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          structure: structureOf(project, 'orders', fieldsOf('item TEXT, sold BOOLEAN')),
        },
        body: JSON.stringify([{ item: `teapot of ${project}`, sold: true }]),
      });
      t.equal(stored.status, 200, await stored.text());
    }
    const { page, problems } = member;
    await page.goto(server.url('/'));
    await page.getByRole('link', { name: 'shop' }).waitFor();
    t.equal(await page.getByRole('link', { name: 'vault' }).count(), 0);
    t.strictSame(await buttonsOf(page, 'Projects'), []);
    await page.getByRole('link', { name: 'shop' }).click();
    await page.getByRole('link', { name: 'orders', exact: true }).waitFor();
    t.strictSame(await buttonsOf(page, 'Record spaces of shop'), []);
    const tabs = (name: string) => page.getByRole('navigation', { name }).getByRole('link').allTextContents();
    t.strictSame(await tabs('Project'), ['Record spaces', 'Files']);
    await check(t, page, 'spaces-of-a-member');
    await page.getByRole('link', { name: 'orders', exact: true }).click();
    await page.getByText('teapot of shop').waitFor();
    t.strictSame(await tabs('Record space'), ['Records', 'Summary', 'Structure']);
    const labels = await buttonsOf(page, 'Orders');
    t.ok(labels.includes('Export'));
    for (const label of ['Import', 'Add a record']) t.notOk(labels.includes(label), label);
    await page.getByText('teapot of shop').click();
    const record = page.getByRole('dialog', { name: 'Record' });
    await record.getByRole('button', { name: 'Close', exact: true }).last().waitFor();
    t.equal(await record.getByRole('textbox').isEditable(), false, 'what can not be saved');
    t.equal(await record.getByRole('textbox').inputValue(), 'teapot of shop');
    t.equal(await record.getByRole('combobox').isEnabled(), false);
    for (const name of ['Save', 'Delete', /^Clear/])
      t.equal(await record.getByRole('button', { name }).count(), 0, String(name));
    await check(t, page, 'record-of-a-member');
    await closeByEscape(record);
    await page.getByRole('link', { name: 'Structure' }).click();
    await page.getByRole('table').getByText('item').first().waitFor();
    t.strictSame(await buttonsOf(page, 'Fields'), []);
    t.strictSame(problems, []);
    await page.goto(server.url('/usage'));
    await page.getByText('Your grants in this account do not include “see the usage”').first().waitFor();
    problems.splice(0);
  },
);

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
  await page.getByText('Your account was deleted, with everything in it.').first().waitFor();
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
