/** Projects, record spaces and records in a real browser: what a person does there, the API sees, and the other way round. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { exportedText, makeSpace, openRecords, project } from '../services/records-browser.ts';

const { server, page, problems, api, go, noProblems, dialog, grid, button } = await openRecords();
t.teardown(() => server.close());

interface Person {
  readonly id: string;
  readonly fullName: string;
  readonly age: number | null;
}

const rowOf = (text: string) => grid.getByRole('row').filter({ hasText: text });
/** Of the form of a record. */
const field = (name: string) => dialog.getByRole('textbox', { name: `${name} ` });
const closed = () => dialog.waitFor({ state: 'detached' });

/** Presses Tab until the text is that of what has the focus. */
async function tabTo(text: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if ((await page.evaluate<string>('document.activeElement.textContent')) === text) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${text}`);
}

t.test('a project, a space, its fields and a record are made, and the API has them', async (t) => {
  await page.goto(server.url('/projects'));
  await page.getByRole('button', { name: 'New project' }).first().click();
  await dialog.getByLabel('Name', { exact: true }).fill(project);
  await dialog.getByLabel('Name of the record space').fill('People');
  await button('Create the project').click();
  await page.getByText('No fields yet').waitFor();
  const fields = [
    ['fullName', 'TEXT', 'Required'],
    ['age', 'NUMBER', null],
    ['email', 'TEXT', 'Unique'],
    ['password', 'TEXT', 'Hashed'],
  ] as const;
  for (const [name, type, flag] of fields) {
    await page.getByRole('button', { name: 'Add a field' }).first().click();
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByLabel('Type').selectOption(type);
    if (flag !== null) await dialog.getByLabel(flag, { exact: true }).check();
    await button('Add the field').click();
    await page.getByRole('row').filter({ hasText: name }).waitFor();
  }
  await page.getByRole('link', { name: 'Records', exact: true }).click();
  await page.getByText('No records yet').waitFor();
  await page.getByRole('button', { name: 'Add a record' }).first().click();
  await field('age').fill('old');
  await button('Add the record').click();
  await dialog.getByText('This field is required.').waitFor();
  await dialog.getByText('Write a number').waitFor();
  await field('fullName').fill('Ada Lovelace');
  await field('age').fill('36');
  await field('email').fill('ada@example.com');
  await dialog.locator('input[type=password]').fill('secret');
  await button('Add the record').click();
  await rowOf('Ada Lovelace').waitFor();
  const found = await api<Person[]>('GET', `/${project}/people`);
  t.match(found, [{ fullName: 'Ada Lovelace', age: 36, email: 'ada@example.com' }]);
  const query = 'email=ada@example.com&password=secret';
  t.match(await api('GET', `/${project}/people/_single_?${query}`), { age: 36 });
  t.notOk((await grid.textContent())?.includes('password'), 'a hashed field is not in the table');
  noProblems(t);
});

t.test('what the API refuses stands at its field; a change sends what was changed', async (t) => {
  await go('/spaces/people');
  await rowOf('Ada Lovelace').waitFor();
  const body = { fullName: 'Grace Hopper', email: 'grace@example.com' };
  await api('POST', `/${project}/people/_single_`, { body });
  await button('Reload the records').click();
  await rowOf('Grace Hopper').getByText('Grace Hopper').click();
  await field('email').fill('ada@example.com');
  t.match(page.url(), /record=/);
  await button('Save').click();
  const email = dialog.locator('.field').filter({ hasText: 'email' });
  await email.getByText("A record with this 'email' already exists").waitFor();
  await eventuallyEqual(t, () => field('email').getAttribute('aria-invalid'), 'true');
  const [grace] = await api<Person[]>('GET', `/${project}/people?fullName=Grace+Hopper`);
  // somebody else changes another field meanwhile
  await api('POST', `/${project}/people/update-by-id?id=${grace?.id}`, { body: { age: 85 } });
  await field('email').fill('hopper@example.com');
  await button('Save').click();
  await rowOf('hopper@example.com').getByText('85', { exact: true }).waitFor();
  const stored = await api('GET', `/${project}/people/_single_?id=${grace?.id}`);
  t.match(stored, { age: 85, email: 'hopper@example.com' });
  await rowOf('Grace Hopper').getByText('Grace Hopper').click();
  await button('JSON').click();
  await dialog.getByText('"email": "hopper@example.com"').waitFor();
  await page.goBack();
  await closed();
  // what the browser itself says of the 400
  await eventuallyEqual(t, () => problems.length, 1);
  t.match(problems.splice(0), [/400/]);
  noProblems(t);
});

t.test('a file with bad rows is imported, and what is exported is the same again', async (t) => {
  await makeSpace(api, 'import', [
    { name: 'name', type: 'TEXT', required: true, unique: true },
    { name: 'age', type: 'NUMBER' },
    { name: 'tags', type: 'ARRAY' },
  ]);
  const rows = Array.from({ length: 2500 }, (_, n) => `"Person ""${n}""",${n},"[""t${n}""]"`);
  rows[10] = 'Bad,old,';
  rows[2000] = '"Person ""5""",,';
  rows.push("'=1+1,-5,");
  const buffer = Buffer.from(['name,age,tags', ...rows].join('\r\n'));
  await go('/spaces/import');
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await dialog
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
  await dialog.getByText('All 3 columns go to a field').waitFor();
  await dialog.getByText('Line 12: age should be a valid number').waitFor();
  await dialog.getByLabel('Records with problems').selectOption('skip');
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await dialog.getByText('Done: 2,499 records imported, 2 skipped').waitFor();
  const report = /12ageshould be a valid number.*2002nameis unique/;
  t.match(await dialog.getByRole('table').filter({ hasText: report }).textContent(), report);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  t.equal((await api<unknown[]>('GET', `/${project}/import`)).length, 2499);
  t.match(await api('GET', `/${project}/import/_single_?age=-5`), { name: '=1+1', tags: null });
  await button('Export').click();
  const json = JSON.parse(await exportedText(page)) as unknown[];
  await closed();
  t.strictSame(json.reverse(), await api('GET', `/${project}/import`));
  await button('Export').click();
  await dialog.getByLabel('Format').selectOption('csv');
  const csv = (await exportedText(page)).split('\r\n');
  await closed();
  t.equal(csv[0], '"id","name","age","tags","createdAt","updatedAt"');
  t.match(csv[1], /^[^,]+,"'=1\+1",-5,,/);
  t.match(csv[2], /^[^,]+,"Person ""2499""",2499,"\[""t2499""\]",/);
  t.equal(csv.length, 2499 + 2);
  await button('Export').click();
  await dialog.getByLabel('Format').selectOption('csv');
  await dialog.getByLabel('Put an apostrophe before formulas').uncheck();
  await dialog.getByLabel('Begin with a byte order mark').check();
  const plain = (await exportedText(page)).split('\r\n');
  await closed();
  t.equal(plain[0], '\ufeff"id","name","age","tags","createdAt","updatedAt"');
  t.match(plain[1], /^[^,]+,"=1\+1",-5,,/);
  noProblems(t);
});

t.test('filters and orders are in the address; Back undoes them', async (t) => {
  const names = grid.locator('.grid-body .grid-cell[aria-colindex="2"]');
  await go('/spaces/import');
  await rowOf('=1+1').waitFor();
  await page.getByLabel('age equals').fill('7');
  await page.getByText('1 record', { exact: true }).waitFor();
  await eventuallyEqual(t, () => names.allTextContents(), ['Person "7"']);
  t.match(page.url(), /where\.age=7$/);
  await page.getByLabel('tags equals').fill('["t9"]');
  await page.getByText('No record matches.').waitFor();
  await page.getByLabel('Filters').selectOption('any');
  await page.getByText('2 records', { exact: true }).waitFor();
  await page.getByLabel('age equals').fill('seven');
  await page.getByText('age: Write a number, such as 36 or 1.5.').waitFor();
  await page.goBack();
  await page.getByText('2 records', { exact: true }).waitFor();
  await eventuallyEqual(t, () => page.getByLabel('age equals').inputValue(), '7');
  await page.goto(`${page.url().split('?')[0]}?sort=age`);
  await rowOf('=1+1').waitFor();
  const first = async () => (await names.allTextContents()).slice(0, 2);
  await eventuallyEqual(t, first, ['=1+1', 'Person "0"']);
  await grid.getByRole('button', { name: 'age' }).click();
  await rowOf('Person "2499"').waitFor();
  t.match(page.url(), /sort=age&order=desc$/);
  const header = grid.getByRole('columnheader', { name: 'age' });
  await eventuallyEqual(t, () => header.getAttribute('aria-sort'), 'descending');
  await page.getByRole('searchbox').fill('ERSON "24');
  await page.getByText('111 records', { exact: true }).waitFor();
  await page.goBack();
  await rowOf('Person "2498"').waitFor();
  noProblems(t);
});

t.test('by keyboard alone: rows are walked, selected, opened, changed and deleted', async (t) => {
  await makeSpace(api, 'keys', [
    { name: 'n', type: 'NUMBER' },
    { name: 'word', type: 'TEXT' },
  ]);
  const body = Array.from({ length: 600 }, (_, n) => ({ n, word: `w${n}` }));
  await api('POST', `/${project}/keys`, { body });
  await go('/spaces/keys');
  await rowOf('w599').waitFor();
  const focused = () => grid.evaluate((element) => element.matches(':focus'));
  for (let presses = 0; presses < 60 && !(await focused()); presses++) await page.keyboard.press('Tab');
  const active = () =>
    grid.evaluate((element) => {
      const id = element.getAttribute('aria-activedescendant') ?? '';
      return element.ownerDocument.getElementById(id)?.textContent;
    });
  await eventuallyEqual(t, active, '599');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await eventuallyEqual(t, active, 'w598');
  await page.keyboard.press('Enter');
  await dialog.locator('textarea:focus').waitFor();
  await page.keyboard.press('End');
  await page.keyboard.type('!');
  await tabTo('Save');
  await page.keyboard.press('Enter');
  await closed();
  await grid.getByText('w598!').waitFor();
  await eventuallyEqual(t, active, 'w598!');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await page.getByText('3 selected').first().waitFor();
  await page.keyboard.press('Delete');
  await dialog.getByText('Delete 3 records?').waitFor();
  await page.locator('dialog:focus-within').waitFor();
  await tabTo('Delete 3 records');
  await page.keyboard.press('Enter');
  await closed();
  const left = await api<{ n: number }[]>('GET', `/${project}/keys`);
  t.equal(left.length, 597);
  t.notOk(left.some(({ n }) => n >= 596 && n <= 598));
  await page.keyboard.press('Control+End');
  await page.getByText('597 records', { exact: true }).waitFor();
  noProblems(t);
});

t.test('a field is changed and dropped; spaces are found, and dropped with the project', async (t) => {
  await go('/spaces/import/structure');
  await button('Edit age').click();
  await dialog.getByLabel('Required').check();
  await button('Save').click();
  await page.getByText('Field age saved.').waitFor();
  await page.getByRole('row', { name: 'age' }).getByRole('cell', { name: 'yes' }).waitFor();
  await page.getByRole('button', { name: 'Drop age' }).click();
  await dialog.getByLabel('Type age to confirm').fill('age');
  await button('Drop the field').click();
  await page.getByText('Field age dropped.').waitFor();
  const options = { pagination: { limit: 1, page: 1 } };
  const [first] = await api<object[]>('GET', `/${project}/import`, { options });
  t.strictSame(Object.keys(first ?? {}), ['id', 'name', 'tags', 'createdAt', 'updatedAt']);
  await go('');
  await page.getByRole('searchbox').fill('impo');
  await page.getByRole('row').filter({ hasText: 'keys' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Drop import' }).click();
  await dialog.getByLabel('Type import to confirm').fill('import');
  await dialog.getByRole('button', { name: 'Drop the record space' }).click();
  await page.getByText('Record space import dropped.').waitFor();
  const { spaces } = await api<{ spaces: { slug: string }[] }>('GET', `/_projects_/${project}/spaces`);
  t.strictSame(
    spaces.map(({ slug }) => slug),
    ['keys', 'people'],
  );
  await page.goto(server.url('/projects'));
  await page.getByRole('button', { name: `Drop ${project}` }).click();
  await dialog.getByLabel(`Type ${project} to confirm`).fill(project);
  await button('Drop the project').click();
  await page.getByText('No projects yet').waitFor();
  t.strictSame(await api('GET', '/_projects_'), { projects: [], next: null });
  noProblems(t);
});
