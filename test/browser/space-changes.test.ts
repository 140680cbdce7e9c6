/** What only a program could do with a record space. */
import t, { type Test } from 'tap';
import { closeByEscape } from '../services/console-browser.ts';
import { makeSpace, openRecords, project } from '../services/records-browser.ts';

const { server, page, problems, api, go, dialog } = await openRecords();
t.teardown(() => server.close());

/** What a person would not see. A refusal is written to the console by the browser itself. */
const noProblems = (t: Test) =>
  t.strictSame(
    problems.splice(0).filter((text) => !/ 40[04] /.test(text)),
    [],
  );

const closed = () => dialog.waitFor({ state: 'detached' });

interface ShownSpace {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly { readonly name: string; readonly slug: string; readonly type: string }[];
  readonly structure: { readonly webhooks?: object; readonly authOptions?: object };
}
const stored = (space: string) => api<ShownSpace>('GET', `/_projects_/${project}/spaces/${space}`);

t.test('the page said that the type of a field can’t be changed', async (t) => {
  await makeSpace(api, 'types', [{ name: 'age', type: 'TEXT' }]);
  const [, old] = await api<{ id: string }[]>('POST', `/${project}/types`, {
    body: [{ age: '36' }, { age: 'old' }],
  });
  await go('/spaces/types/structure');
  await page.getByRole('button', { name: 'age', exact: true }).click();
  await dialog.getByLabel('Type').selectOption('NUMBER');
  await dialog.getByText('Every stored text has to be a number').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog
    .getByText(`1 of 2 stored values does not convert: 'old' in record ${old?.id}`)
    .first()
    .waitFor();
  await api('POST', `/${project}/types/update-by-id?id=${old?.id}`, { body: { age: '37' } });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await closed();
  await page.getByRole('row').filter({ hasText: 'NUMBER' }).waitFor();
  t.match(await api('GET', `/${project}/types`), [{ age: 36 }, { age: 37 }]);
  noProblems(t);
});

t.test('name, description, webhooks and authOptions could not be edited', async (t) => {
  await makeSpace(api, 'user', [{ name: 'email', type: 'TEXT' }]);
  await makeSpace(api, 'orders', [{ name: 'item', type: 'TEXT' }]);
  await go('/spaces/orders/structure');
  await page.getByRole('button', { name: 'Edit the record space' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('Orders of today');
  await dialog.getByLabel('Description').fill('what is to be sent');
  await dialog.getByLabel('Call after inserts').fill('https://example.com/hook');
  await dialog.getByLabel('For logged-in users only').check();
  await dialog.getByLabel('Record space of the users').fill('user');
  await dialog.getByLabel('find', { exact: true }).uncheck();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await closed();
  await page.getByRole('heading', { name: 'Orders of today' }).waitFor();
  t.match(await stored('orders'), {
    name: 'Orders of today',
    description: 'what is to be sent',
    fields: [{ name: 'item' }],
    structure: {
      webhooks: { onInsertUrl: 'https://example.com/hook', onUpdateUrl: null },
      authOptions: { active: true, space: 'user', scope: ['insert', 'update', 'delete'] },
    },
  });
  await page.getByRole('button', { name: 'Edit the record space' }).click();
  await dialog.getByLabel('Call after inserts').fill('');
  await dialog.getByLabel('For logged-in users only').uncheck();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await closed();
  const { webhooks, authOptions } = (await stored('orders')).structure;
  t.match(webhooks, { onInsertUrl: null, onUpdateUrl: null });
  t.match(authOptions, { active: false });
  noProblems(t);
});

t.test('a cell of 10 MB froze the page', async (t) => {
  await makeSpace(api, 'large', [
    { name: 'text', type: 'TEXT' },
    { name: 'n', type: 'NUMBER' },
  ]);
  await api('POST', `/${project}/large`, { body: [{ text: 'a b\n'.repeat(2_500_000), n: 1 }] });
  await go('/spaces/large');
  await page.getByRole('grid').getByText('a b a b').click();
  await dialog.getByRole('button', { name: 'Edit all 10 MB of text' }).waitFor();
  t.ok(((await page.textContent('body')) ?? '').length < 10_000, 'it is nowhere in full');
  await closeByEscape(dialog);
  noProblems(t);
});

t.test('a name of two words suggested a slug with a space in it', async (t) => {
  await go('');
  await page.getByRole('button', { name: 'New record space' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill(' Order Items ');
  t.equal(await dialog.getByLabel('Slug').inputValue(), 'order-items');
  await page.goto(server.url('/projects'));
  await page.getByRole('button', { name: 'New project' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('my app');
  t.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'my-app');
});

t.test('a project that does not exist seemed to be an empty one', async (t) => {
  await page.goto(server.url('/projects/nowhere'));
  await page.getByRole('heading', { name: 'There is no project nowhere' }).waitFor();
  noProblems(t);
});
