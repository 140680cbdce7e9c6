/** Work on hundreds of records and files at once, and edits that were thrown away. */
import t from 'tap';
import { closeByEscape, makeToken } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { upload } from '../services/fill-console.ts';
import { makeSpace, openRecords, project } from '../services/records-browser.ts';

const { server, page, api, go, dialog, grid, button } = await openRecords();
t.teardown(() => server.close());

const records = Array.from({ length: 1300 }, (_, n) => ({ n, word: `word ${n}`, even: n % 2 === 0 }));

await makeSpace(api, 'words', [
  { name: 'n', type: 'NUMBER' },
  { name: 'word', type: 'TEXT', required: true },
  { name: 'even', type: 'BOOLEAN' },
]);
await api('POST', `/${project}/words`, { body: records });

t.test('Save on a record that is not right left the focus where it was', async (t) => {
  await go('/spaces/words');
  await button('Add a record').click();
  await dialog.getByRole('textbox', { name: 'n NUMBER' }).fill('many');
  await dialog.getByRole('button', { name: 'Add the record' }).click();
  await eventuallyEqual(t, () => page.evaluate('document.activeElement.value'), 'many');
  t.equal(await dialog.locator('[aria-invalid=true]').count(), 2);
  await dialog.getByRole('textbox', { name: 'n NUMBER' }).fill('');
  const placeholder = await dialog.getByRole('textbox', { name: 'n NUMBER' }).getAttribute('placeholder');
  t.equal(placeholder, 'no value', 'a number is no empty text');
  const word = dialog.getByRole('textbox', { name: 'word TEXT' });
  t.equal(await dialog.getByRole('button', { name: 'Clear n: it' }).count(), 0, 'it has none already');
  await dialog.getByRole('textbox', { name: 'n NUMBER' }).fill('1');
  const clear = dialog.getByRole('button', { name: 'Clear n: it then has no value' });
  t.equal(await clear.textContent(), 'Clear');
  await clear.click();
  t.equal(await dialog.getByRole('textbox', { name: 'n NUMBER' }).inputValue(), '');
  t.equal(await word.inputValue(), '');
});

t.test('Escape threw away what was written', async (t) => {
  const word = dialog.getByRole('textbox', { name: 'word TEXT' });
  await word.fill('kept');
  await page.keyboard.press('Escape');
  const question = page.getByRole('dialog', { name: 'Discard your changes?' });
  await closeByEscape(question);
  t.equal(await word.inputValue(), 'kept');
  await page.keyboard.press('Escape');
  await question.getByRole('button', { name: 'Discard' }).click();
  await dialog.waitFor({ state: 'detached' });
});

t.test('Escape threw away the name of a new space, and ended an import', async (t) => {
  const question = (name: string) => page.getByRole('dialog', { name });
  await go('');
  await button('New record space').click();
  const name = dialog.getByLabel('Name', { exact: true });
  await name.fill('Kept');
  await page.keyboard.press('Escape');
  await question('Discard your changes?').getByRole('button', { name: 'Cancel' }).click();
  t.equal(await name.inputValue(), 'Kept');
  await page.keyboard.press('Escape');
  await question('Discard your changes?').getByRole('button', { name: 'Discard' }).click();
  await dialog.waitFor({ state: 'detached' });

  await go('/spaces/words');
  await button('Import').click();
  const file = { name: 'words.csv', mimeType: 'text/csv', buffer: Buffer.from('n,word\n9000,imported\n') };
  await dialog.locator('input[type=file]').setInputFiles(file);
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(/\/words\/_import_\?.*onError=/, async (route) => {
    await held;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Import', exact: true }).click();
  await dialog.getByText('Uploading:').waitFor();
  await page.keyboard.press('Escape');
  await closeByEscape(question('Stop the import?'));
  letGo();
  await dialog.getByText('Done: 1 record imported').waitFor();
  await page.unrouteAll();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await grid.getByText('imported').waitFor();
  const [{ id }] = await api<[{ id: string }]>('GET', `/${project}/words?n=9000`);
  await api('DELETE', `/${project}/words?id=${id}`);
});

t.test('a look at the JSON threw away what was written', async (t) => {
  await grid.getByText('word 1299').click();
  const word = dialog.getByRole('textbox', { name: 'word TEXT' });
  await word.fill('kept');
  await dialog.getByRole('button', { name: 'JSON' }).click();
  await dialog.getByText('"word 1299"').waitFor();
  await dialog.getByRole('button', { name: 'Form' }).click();
  t.equal(await word.inputValue(), 'kept');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Discard' }).getByRole('button', { name: 'Discard' }).click();
  await dialog.waitFor({ state: 'detached' });
});

t.test('a search threw the filters away', async (t) => {
  await page.getByLabel('even equals').selectOption('true');
  await grid.getByText('word 1298').waitFor();
  await page.getByLabel('Search in all text fields').fill('word 129');
  await page.getByText('5 records', { exact: true }).waitFor();
  t.match(page.url(), /search=word\+129&where.even=true/);
  await page.getByLabel('Search in all text fields').fill('');
  await page.getByText(/of 650 records loaded/).waitFor();
  t.equal(await page.getByLabel('even equals').inputValue(), 'true');
});

t.test('the last record was at the end of a long way', async (t) => {
  await go('/spaces/words');
  await page.getByText(/of 1,300 records loaded/).waitFor();
  let requests = 0;
  page.on('request', (request) => void (request.url().includes('/words') && requests++));
  await page.getByRole('button', { name: 'Go to the last record' }).click();
  await grid.getByText('word 0', { exact: true }).waitFor();
  t.ok(requests < 5, `${requests} requests`);
  await grid.evaluate((element) => element.scrollTo({ top: 700 * 34 }));
  await grid.getByText('word 590', { exact: true }).waitFor();
  await grid.focus();
  await page.keyboard.press('Control+Home');
  await grid.getByText('word 1299').waitFor();
  // with a filter it is read on
  await page.getByLabel('even equals').selectOption('false');
  await page.getByText(/of 650 records loaded/).waitFor();
  await grid.focus();
  await page.keyboard.press('Control+End');
  await grid.getByText('word 1', { exact: true }).waitFor();
  await page.getByText('650 records', { exact: true }).waitFor();
});

t.test('only what was loaded could be selected', async (t) => {
  await go('/spaces/words?where.even=false');
  const loaded = page.getByText('550 of 650 records loaded');
  await loaded.waitFor();
  await page.getByLabel('Select all loaded records').check();
  await button('Select all that match').click();
  await page.getByText('all that match selected').waitFor();
  await button('Delete').click();
  await dialog.getByRole('button', { name: 'Delete all records that match' }).click();
  await page.getByText('No record matches.').waitFor();
  await eventuallyEqual(t, async () => (await api<unknown[]>('GET', `/${project}/words`)).length, 650);
  await go('/spaces/words');
  await loaded.waitFor();
  await page.getByLabel('Select all loaded records').check();
  await button('Select all 650 records').click();
  await button('Delete').click();
  await dialog.getByLabel('Type words to confirm').fill('words');
  await dialog.getByRole('button', { name: 'Delete 650 records' }).click();
  await page.getByText('No records yet').waitFor();
});

const names = Array.from({ length: 230 }, (_, n) => `file-${String(n).padStart(3, '0')}.txt`);

t.test('files came fifty by fifty, in one order, and nobody said how many there are', async (t) => {
  const token = await makeToken(server, page, 'uploads');
  const left = [...names];
  const work = async (): Promise<void> => {
    for (let name = left.pop(); name !== undefined; name = left.pop())
      await upload(server, token, { project: 'album', file: new File([name], name) });
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await page.goto(server.url('/projects/album/files'));
  await page.getByLabel('230 files').waitFor();
  await page.getByLabel('Order').selectOption('By name, A to Z');
  const first = page.getByRole('row').nth(1);
  await first.filter({ hasText: 'file-000.txt' }).waitFor();
  t.equal(await page.getByRole('row').count(), 101);
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByRole('row').filter({ hasText: 'file-199.txt' }).waitFor();
  await page.getByLabel('Order').selectOption('By name, Z to A');
  await first.filter({ hasText: 'file-229.txt' }).waitFor();
  await page.getByLabel('230 files').check();
  await page.getByText('100 of 230 files selected').waitFor();
  await button('Delete 100 files').click();
  await dialog.getByRole('button', { name: 'Delete 100 files' }).click();
  await page.getByText('100 files deleted.').waitFor();
  await page.getByLabel('130 files').waitFor();
  await page.getByLabel('Search by name').fill('file-00');
  await page.getByLabel('10 files').check();
  await button('Delete 10 files').click();
  await dialog.getByRole('button', { name: 'Delete 10 files' }).click();
  await page.getByText('No matching files').waitFor();
});

t.test('a project with files could be dropped when each of them was deleted by hand', async (t) => {
  const token = await makeToken(server, page, 'more uploads');
  for (const name of names.slice(0, 100))
    await upload(server, token, { project: 'album', file: new File([name], name) });
  let requests = 0;
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/_f_/album/_delete_', async (route) => {
    if (requests++ > 0) await held;
    await route.continue();
  });
  await page.goto(server.url('/projects'));
  await page.getByRole('button', { name: 'Drop album' }).click();
  await dialog.getByLabel('Type album to confirm').fill('album');
  t.notMatch(await dialog.textContent(), /optional/, 'what has to be typed is not optional');
  await dialog.getByRole('button', { name: 'Drop the project' }).click();
  await dialog.getByText('200 of 220').waitFor();
  const bar = dialog.getByRole('progressbar');
  t.strictSame([await bar.getAttribute('value'), await bar.getAttribute('max')], ['200', '220']);
  letGo();
  await page.getByText('Project album dropped.').waitFor();
  t.equal(requests, 2);
  await page.unroute('**/_f_/album/_delete_');
  t.match(await api('GET', '/_projects_'), { projects: [{ slug: project }] });
});
