/** Pages of records with values that nobody would wish for, on small screens, and with a hundred thousand records. */
import t from 'tap';
import { closeByEscape } from '../services/console-browser.ts';
import { makeSpace, openRecords, project, seriousFindings } from '../services/records-browser.ts';
import { sized } from '../services/test-size.ts';

const { server, page, problems, api, go, noProblems, dialog, grid } = await openRecords();
t.teardown(() => server.close());

const script = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
const slug = 'x<img src=x onerror=alert(3)>';

t.test('scripts in values, names and slugs are text', async (t) => {
  page.on('dialog', (opened) => {
    problems.push(`a script ran: ${opened.message()}`);
    void opened.dismiss();
  });
  await makeSpace(api, slug, [
    { name: script, type: 'TEXT', description: script },
    { name: 'data', type: 'OBJECT' },
  ]);
  const body = [{ [script]: script, data: { [script]: script } }, { [script]: 'javascript:alert(4)' }];
  await api('POST', `/${project}/${encodeURIComponent(slug)}`, { body });
  await page.goto(server.url(`/projects/${project}`));
  await page.getByRole('link', { name: slug, exact: true }).click();
  await grid.getByText('javascript:alert(4)').waitFor();
  await grid.locator('.grid-body').getByText(script).first().click();
  await dialog.getByRole('button', { name: 'JSON' }).click();
  await dialog.getByRole('button', { name: 'Form' }).click();
  t.equal(await dialog.locator('textarea').first().inputValue(), script);
  await closeByEscape(dialog);
  for (const name of ['Code', 'Export', 'Import']) {
    await page.getByRole('button', { name, exact: true }).first().click();
    if (name === 'Import') {
      const quoted = `"${script.replaceAll('"', '""')}"`;
      const buffer = Buffer.from(`${quoted},data\n${quoted},old\n`);
      const file = { name: `${script.replaceAll('/', '')}.csv`, mimeType: 'text/csv', buffer };
      await dialog.locator('input[type=file]').setInputFiles(file);
      await dialog.getByRole('table').waitFor();
    }
    await closeByEscape(dialog);
  }
  await page.getByRole('link', { name: 'Structure' }).click();
  await page.getByRole('table').getByText(script).first().waitFor();
  t.equal(await page.locator('main img, main script, dialog img').count(), 0);
  noProblems(t);
});

t.test('large values open without being drawn in full', async (t) => {
  await makeSpace(api, 'large', [
    { name: 'image', type: 'TEXT' },
    { name: 'data', type: 'OBJECT' },
  ]);
  const image = `data:image/png;base64,${'A'.repeat(699_978)}`;
  const data = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`key${n}`, 'x'.repeat(20)]));
  for (let n = 0; n < 5; n++) await api('POST', `/${project}/large/_single_`, { body: { image, data } });
  await go('/spaces/large');
  await grid.getByText('data:image/png').first().waitFor();
  t.ok(((await grid.textContent()) ?? '').length < 10_000);
  await grid.getByText('data:image/png').first().click();
  await dialog.getByRole('button', { name: 'Edit all 700 kB of image' }).waitFor();
  await dialog.getByRole('button', { name: 'JSON' }).click();
  t.ok(((await dialog.textContent()) ?? '').length < 60_000);
  await dialog.getByRole('button', { name: /Show all/ }).click();
  await dialog.getByText('"key4999"').waitFor();
  await closeByEscape(dialog);
  noProblems(t);
});

const places: readonly (readonly [string, string])[] = [
  ['', 'people'],
  ['/spaces/people', 'Person 59'],
  ['/spaces/people?where.age=old', 'Write a number'],
  ['/spaces/people?where-between.age=50..&where-empty.active=&sort=active&sort=age', 'Person 59'],
  [
    '/spaces/people/summary?by=active&by=age&value=count&value=avg.age',
    '54 others, left out where values can’t be added',
  ],
  ['/spaces/people/summary?by=gone&time=createdAt', 'This field no longer exists.'],
  ['/spaces/empty', 'No records yet'],
  ['/spaces/people/structure', 'Drop the record space'],
];

t.test('axe-core finds nothing serious, light and dark; 360 pixels are wide enough', async (t) => {
  await makeSpace(api, 'people', [
    { name: 'name', type: 'TEXT', required: true },
    { name: 'age', type: 'NUMBER' },
    { name: 'active', type: 'BOOLEAN' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  await makeSpace(api, 'empty', [{ name: 'name', type: 'TEXT' }]);
  const body = Array.from({ length: 60 }, (_, age) => ({ name: `Person ${age}`, age }));
  await api('POST', `/${project}/people`, { body });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      for (const [path, text] of places) {
        await go(path);
        await page.getByText(text).first().waitFor();
        t.strictSame(await seriousFindings(page), [], `${path} ${colorScheme} ${width}`);
        const fits = await page.evaluate<boolean>(
          'document.documentElement.scrollWidth <= window.innerWidth',
        );
        t.ok(fits, `${path} fits into ${width}`);
      }
    }
    await go('/spaces/people');
    for (const name of ['Add a record', 'Import', 'Export', 'Code']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.locator('dialog:focus-within').waitFor();
      t.strictSame(await seriousFindings(page), [], `${name} ${colorScheme}`);
      await closeByEscape(dialog);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  noProblems(t);
});

/** BROWSER_RECORDS=1000000 takes minutes. */
const count = Number(process.env.BROWSER_RECORDS ?? sized(100_000, 40_000));

t.test(`${count} records are scrolled through, and sorted; the page draws few of them`, async (t) => {
  await makeSpace(api, 'many', [
    { name: 'n', type: 'NUMBER' },
    { name: 'word', type: 'TEXT' },
  ]);
  const batch = 20_000;
  for (let from = 0; from < count; from += batch) {
    const length = Math.min(batch, count - from);
    const body = Array.from({ length }, (_, index) => ({
      n: (from + index) % 1000,
      word: `word ${from + index}`,
    }));
    await api('POST', `/${project}/many`, { body });
  }
  const word = (n: number) => grid.getByText(`word ${n}`, { exact: true });
  await go('/spaces/many');
  await word(count - 1).waitFor();
  let requests = 0;
  page.on('request', () => void requests++);
  const whole = page.getByText(`${count.toLocaleString('en')} records`, { exact: true });
  let most = 0;
  while (!(await whole.isVisible())) {
    const drawn = await grid.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
      return element.querySelectorAll('[role=row]').length;
    });
    most = Math.max(most, drawn);
    await page.waitForTimeout(20);
  }
  await grid.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  await word(0).waitFor();
  t.ok(most < 60, `${most} rows were drawn at most`);
  t.ok(requests < count / 400 + 20, `${requests} requests`);
  // back to what was forgotten meanwhile
  await grid.focus();
  await page.keyboard.press('Control+Home');
  await word(count - 1).waitFor();
  const sort = grid.getByRole('button', { name: 'n', exact: true });
  await sort.click();
  await word(0).waitFor();
  await sort.click();
  await word(999)
    .or(word(count - 1))
    .first()
    .waitFor();
  noProblems(t);
});
