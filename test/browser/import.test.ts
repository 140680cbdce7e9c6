/** Files become records: problems, columns, new fields, and what is no such file. */
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { makeSpace, openRecords, project, seriousFindings } from '../services/records-browser.ts';

const { server, page, problems, api, go, dialog, grid, noProblems } = await openRecords();
t.teardown(() => server.close());

const people = [
  { name: 'name', type: 'TEXT', required: true, unique: true },
  { name: 'age', type: 'NUMBER' },
];

async function choose(name: string, content: string | Buffer): Promise<void> {
  const file = { name, mimeType: '', buffer: Buffer.from(content) };
  await dialog.locator('input[type=file]').setInputFiles(file);
}

async function open(space: string): Promise<void> {
  await go(`/spaces/${space}`);
  await page.getByRole('button', { name: 'Import', exact: true }).first().click();
}

const start = () => dialog.getByRole('button', { name: 'Import', exact: true }).click();

async function close(): Promise<void> {
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await dialog.waitFor({ state: 'detached' });
}

const stored = (space: string) => api<Record<string, unknown>[]>('GET', `/${project}/${space}`);

async function looksGood(t: Test): Promise<void> {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    t.strictSame(await seriousFindings(page), [], `${width} wide`);
  }
}

t.test('a file with problems: all or nothing, or without them', async (t) => {
  await makeSpace(api, 'people', people);
  const csv = 'name,age\nAda,36\nBad,old\nAda,37\nGrace,85\n';
  await open('people');
  await choose('people.csv', csv);
  await dialog.getByText('All 2 columns go to a field').waitFor();
  await dialog.getByText('Line 3: age should be a valid number').waitFor();
  await looksGood(t);
  await start();
  await dialog.getByText('Failed: nothing was imported.').waitFor();
  await dialog.getByText('Records have problems').waitFor();
  await dialog.getByRole('row').filter({ hasText: '3age' }).waitFor();
  await looksGood(t);
  const download = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Save the list of problems' }).click();
  const list = await readFile(await (await download).path(), 'utf8');
  t.match(list, /^line,field,problem\r\n3,age,should be a valid number/);
  await close();
  t.strictSame(await stored('people'), []);

  await open('people');
  await choose('people.csv.gz', gzipSync(csv));
  await dialog.getByText('All 2 columns go to a field').waitFor();
  await dialog.getByLabel('Records with problems').selectOption('skip');
  await start();
  await dialog.getByText('Done: 2 records imported, 2 skipped').waitFor();
  await dialog.getByRole('row').filter({ hasText: '4name' }).waitFor();
  await close();
  await grid.getByText('Grace').waitFor();
  t.match(await stored('people'), [
    { name: 'Ada', age: 36 },
    { name: 'Grace', age: 85 },
  ]);
  noProblems(t);
});

t.test('after a failed import its file had to be chosen again to leave records out', async (t) => {
  await makeSpace(api, 'others', []);
  await open('others');
  await choose('people.csv', 'name,age\nAda,36\nBad\nGrace,85\n');
  await dialog.getByText('All 2 columns become fields').waitFor();
  await dialog.getByRole('button', { name: 'Create the fields and import' }).click();
  await dialog.getByText('Failed: nothing was imported.').waitFor();
  await dialog.getByRole('button', { name: 'Import the other 2' }).click();
  await dialog.getByText('Done: 2 records imported, 1 skipped').waitFor();
  t.equal(await dialog.getByRole('button', { name: /Import the other/ }).count(), 0);
  await close();
  t.match(await stored('others'), [{ name: 'Ada' }, { name: 'Grace' }]);
  noProblems(t);
});

t.test('columns go to the fields that are chosen', async (t) => {
  await makeSpace(api, 'mapped', people);
  await open('mapped');
  await choose('words.csv', "First name,Notes,name,id\n'=1,x,Ada,7\n");
  await dialog.getByText('1 of 4 columns go to a field').waitFor();
  t.equal(await dialog.locator('.note').count(), 0, 'a column that is left out is no problem');
  const field = (column: string) => dialog.getByLabel(`Field for ${column}`, { exact: true });
  t.equal(await field('name').inputValue(), 'name');
  t.equal(await field('id').locator('option').first().textContent(), 'set by the service');
  await field('First name').selectOption('name (TEXT)');
  t.equal(await field('name').inputValue(), '', 'a field takes one column');
  await dialog.getByLabel('Remove apostrophes before formulas').uncheck();
  await dialog.getByRole('cell', { name: "'=1", exact: true }).waitFor();
  t.equal(await field('First name').inputValue(), 'name', 'it stays');
  await start();
  await dialog.getByText('Done: 1 record imported, 0 skipped').waitFor();
  await close();
  t.match(await stored('mapped'), [{ name: "'=1", age: null }]);
  noProblems(t);
});

t.test('a space without fields gets those of the file', async (t) => {
  await api('POST', `/${project}/fresh/set-structure`, { body: { name: 'Fresh', recordStructure: [] } });
  await open('fresh');
  const csv = 'id,Full Name,age,zip,active,tags\n1,Ada,36,007,true,"[""a""]"\n2,Grace,85,,false,\n';
  await choose('people.csv', csv);
  await dialog.getByText('5 of 6 columns become fields').waitFor();
  t.equal(await dialog.getByLabel('Type of age').inputValue(), 'NUMBER');
  t.equal(await dialog.getByLabel('Type of zip').inputValue(), 'TEXT', 'no zero is lost');
  await dialog.getByLabel('Type of age').selectOption('TEXT');
  await dialog.getByLabel('Type of active').selectOption('');
  await dialog.getByText('4 of 6 columns become fields').waitFor();
  await dialog.getByRole('button', { name: 'Create the fields and import' }).click();
  await dialog.getByText('Done: 2 records imported, 0 skipped').waitFor();
  await close();
  await grid.getByText('Grace').waitFor();
  const { fields } = await api<{ fields: object[] }>('GET', `/_projects_/${project}/spaces/fresh`);
  t.match(fields, [
    { name: 'Full Name', slug: 'full-name', type: 'TEXT' },
    { name: 'age', type: 'TEXT' },
    { name: 'zip', type: 'TEXT' },
    { name: 'tags', type: 'ARRAY' },
  ]);
  t.match(await stored('fresh'), [
    { 'Full Name': 'Ada', age: '36', zip: '007', tags: ['a'] },
    { 'Full Name': 'Grace', age: '85', zip: null },
  ]);
  noProblems(t);
});

t.test('times without a zone may be those of the browser', async (t) => {
  await makeSpace(api, 'local', []);
  await open('local');
  await choose('local.csv', 'at,n\n2026-07-01 12:00:00,1\n2026-07-02 12:00:00.5,2\n');
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  await dialog.getByLabel(`Times without a zone are those of ${zone}`).check();
  const type = dialog.getByLabel('Type of at');
  await page.waitForFunction(
    (one) => (one as unknown as { value: string }).value === 'DATETIME',
    await type.elementHandle(),
  );
  await looksGood(t);
  await dialog.getByRole('button', { name: 'Create the fields and import' }).click();
  await dialog.getByText('Done: 2 records imported').waitFor();
  await close();
  const at = (text: string): string => new Date(text).toISOString();
  t.match(await stored('local'), [{ at: at('2026-07-01 12:00:00') }, { at: at('2026-07-02 12:00:00.5') }]);
  noProblems(t);
});

t.test('words for a missing value, and decimal commas, are offered where a file has them', async (t) => {
  await makeSpace(api, 'measured', []);
  await open('measured');
  await choose('measured.csv', 'city;temperature\nBerlin;1,5\nParis;NA\nRome;-2,25\n');
  // with it the column has numbers, and one word
  await dialog.getByLabel('Numbers have a decimal comma').check();
  await dialog.getByLabel('Treat NA as a missing value').check();
  await dialog.getByRole('cell', { name: 'no value' }).waitFor();
  const type = dialog.getByLabel('Type of temperature');
  await page.waitForFunction(
    (one) => (one as unknown as { value: string }).value === 'NUMBER',
    await type.elementHandle(),
  );
  await looksGood(t);
  await dialog.getByRole('button', { name: 'Create the fields and import' }).click();
  await dialog.getByText('Done: 3 records imported').waitFor();
  await close();
  t.match(await stored('measured'), [
    { city: 'Berlin', temperature: 1.5 },
    { city: 'Paris', temperature: null },
    { city: 'Rome', temperature: -2.25 },
  ]);
  noProblems(t);
});

t.test('an export is imported again, in all its formats', async (t) => {
  const fields = ['name', 'age'].map((name) => ({
    name,
    slug: name,
    type: name === 'age' ? 'NUMBER' : 'TEXT',
  }));
  for (const format of ['csv', 'json', 'ndjson', 'parquet', 'arrow']) {
    await api('POST', `/${project}/${format}/set-structure`, {
      body: { name: format, recordStructure: fields },
    });
    await open('people');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await dialog.getByLabel('Format').selectOption(format);
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export' }).click();
    const file = await readFile(await (await download).path());
    await open(format);
    await choose(`people.${format}`, file);
    await dialog.getByText('2 of 5 columns go to a field').waitFor();
    await start();
    await dialog.getByText('Done: 2 records imported, 0 skipped').waitFor();
    await close();
    t.match((await stored(format)).map(({ name }) => name).sort(), ['Ada', 'Grace'], format);
  }
  noProblems(t);
});

t.test('an import is stopped while its file is sent, and while it is under way', async (t) => {
  // hashes take their time
  await makeSpace(api, 'slow', [{ name: 'password', type: 'TEXT', hashed: true }]);
  const csv = `password\n${Array.from({ length: 20_000 }, (_, n) => `secret ${n}`).join('\n')}\n`;
  await page.route(/\/slow\/_import_\?.*onError=/, () => {});
  await open('slow');
  await choose('slow.csv', csv);
  await start();
  await dialog.getByText('Uploading:').waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByText('Stopped: nothing was imported.').waitFor();
  await close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });

  await open('slow');
  await choose('slow.csv', csv);
  await start();
  await dialog.getByText('Importing:').waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByText('Stopped: nothing was imported.').waitFor();
  await close();
  const { jobs } = await api<{ jobs: { space: string; state: string }[] }>('GET', '/_jobs_');
  t.strictSame(
    jobs.filter(({ space }) => space === 'slow').map(({ state }) => state),
    ['cancelled'],
  );
  t.strictSame(await stored('slow'), []);
  noProblems(t);
});

t.test('more than the preview needs is sent once', async (t) => {
  await makeSpace(api, 'long', people);
  const line = (n: number) => JSON.stringify({ name: `Person ${n}`, age: n });
  const sizes: number[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/long/_import_')) sizes.push(request.postDataBuffer()?.length ?? 0);
  });
  await open('long');
  await choose('long.jsonl', Array.from({ length: 30_000 }, (_, n) => `${line(n)}\n`).join(''));
  await dialog.getByText('All 2 columns go to a field').waitFor();
  t.equal(await dialog.getByText('problem', { exact: false }).filter({ hasText: 'Line' }).count(), 0);
  await start();
  await dialog.getByText('Done: 30,000 records imported, 0 skipped').waitFor();
  await close();
  t.equal(sizes.length, 2);
  noProblems(t);
});

t.test('what can not be imported says why', async (t) => {
  await open('people');
  await choose('people.xlsx', Buffer.from([0x50, 0x4b, 3, 4]));
  await dialog.getByText('Save it as “CSV UTF-8”').waitFor();
  await choose('people.exe', 'MZ');
  await dialog.getByText('Files of this kind can’t be imported').waitFor();
  await choose('empty.csv', 'name,age\n');
  await dialog.getByText('All 2 columns go to a field').waitFor();
  await dialog.getByRole('button', { name: 'Another file' }).click();
  await choose('twice.csv', 'name,age,age\nAda,36,37\n');
  await dialog.getByText(/two columns go|twice/).waitFor();
  t.equal(await dialog.getByRole('button', { name: 'Import', exact: true }).isDisabled(), true);
  // the browser itself says of a refusal
  t.ok(problems.splice(0).every((problem) => problem.includes('400')));
});
