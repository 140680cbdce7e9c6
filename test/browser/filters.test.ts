/** Filters by operator, several sorts, sums and the summary of records, in a real browser on a real server. */
import type { Locator, Request } from 'playwright-core';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import {
  exportedText,
  makeSpace,
  openRecords,
  project,
  seriousFindings,
} from '../services/records-browser.ts';

const { server, page, problems, api, go, noProblems, dialog, grid } = await openRecords();
t.teardown(() => server.close());

const records = (count: string) => page.getByText(`${count} records`, { exact: true }).waitFor();
const operator = (column: string) => page.getByLabel(`${column}: filter`);
const names = () => grid.locator('.grid-body .grid-cell[aria-colindex="2"]').allTextContents();
const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text });

await makeSpace(api, 'sales', [
  { name: 'name', type: 'TEXT' },
  { name: 'city', type: 'TEXT' },
  { name: 'amount', type: 'NUMBER' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'home', type: 'OBJECT' },
]);
const cities = ['Paris', 'Rome', null];
const body = Array.from({ length: 700 }, (_, n) => ({
  name: `Sale ${n}`,
  city: cities[n % 3],
  amount: n,
  tags: n % 7 === 0 ? [] : [n % 2, 'a,b'],
  home: { floor: n % 5 },
}));
await api('POST', `/${project}/sales`, { body });

t.test('each type has its operators; the address holds them', async (t) => {
  await go('/spaces/sales');
  await grid.getByText('Sale 699').waitFor();
  await operator('amount').selectOption('between');
  await page.getByLabel('amount from').fill('10');
  await page.getByLabel('amount to').fill('14');
  await records('5');
  t.match(page.url(), /where-between\.amount=10\.\.14$/);
  await operator('city').selectOption('empty');
  await records('2');
  await page.reload();
  await records('2');
  await eventuallyEqual(t, names, ['Sale 14', 'Sale 11']);
  t.equal(await page.getByLabel('amount from').inputValue(), '10');
  await operator('city').selectOption('in');
  await records('5');
  await page.getByLabel('city is one of').fill('Paris, Rome');
  await records('3');
  await operator('name').selectOption('iendsWith');
  await page.getByLabel('name ends with').fill('ALE 12');
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByLabel('Filters').selectOption('any');
  await records('469');
  noProblems(t);
});

t.test('dates, arrays and paths', async (t) => {
  await go('/spaces/sales?where-has.tags=a%2Cb&where-path.home=floor%3D4');
  // not 4, 9, ... that are divisible by 7
  await page.getByText('120 records', { exact: true }).waitFor();
  const path = page.getByLabel('home has path');
  t.notMatch(await path.getAttribute('placeholder'), /\w=\w/, 'what looked like a filter');
  await operator('tags').selectOption('hasAll');
  await page.getByLabel('tags has all of').fill('["a,b", 0]');
  await records('60');
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.getByText('550 of 700 records loaded').waitFor();
  await grid.evaluate((element) => element.scrollTo({ left: 10_000 }));
  await page.getByLabel('createdAt to').fill('2020-01-31');
  await page.getByText('No record matches.').waitFor();
  await page.getByLabel('createdAt from').fill('2020-01-01');
  await page.waitForURL(/where-between\.createdAt=2020-01-01\.\.2020-01-31$/);
  await page.getByLabel('createdAt to').fill('');
  await page.getByText('550 of 700 records loaded').waitFor();
  noProblems(t);
});

t.test('heads of number columns stood at the left of their numbers', async (t) => {
  const ends = async (cell: Locator): Promise<number> => {
    const [text, box] = [await cell.locator('.cut').boundingBox(), await cell.boundingBox()];
    const right = (of: typeof box) => (of?.x ?? 0) + (of?.width ?? 0);
    t.equal(await cell.locator('.cut').evaluate((element) => getComputedStyle(element).textAlign), 'right');
    return right(box) - right(text);
  };
  await grid.evaluate((element) => element.scrollTo({ left: 0 }));
  const head = await ends(grid.getByRole('columnheader', { name: 'amount' }));
  t.equal(head, await ends(grid.locator('.grid-body .grid-cell.number').first()));
});

t.test('several sorts, by mouse and by keyboard; pages follow each other in their order', async (t) => {
  await go('/spaces/sales');
  await grid.getByText('Sale 699').waitFor();
  await grid.getByRole('button', { name: 'city' }).click();
  await grid.getByText('Sale 3', { exact: true }).waitFor();
  await grid.getByRole('button', { name: 'amount' }).click({ modifiers: ['Shift'] });
  await page.waitForURL(/sort=city&sort=amount$/);
  await grid.getByRole('button', { name: 'amount' }).focus();
  await page.keyboard.press('Shift+Enter');
  await page.waitForURL(/sort=city&order=asc&sort=amount&order=desc$/);
  await eventuallyEqual(t, async () => (await names()).slice(0, 2), ['Sale 699', 'Sale 696']);
  await eventuallyEqual(t, () => grid.getByRole('columnheader', { name: 'amount' }).textContent(), 'amount2');
  await operator('amount').selectOption('gte');
  await page.getByLabel('amount ≥').fill('1');
  await page.getByText('550 of 699 records loaded').waitFor();
  await grid.focus();
  await page.keyboard.press('Control+End');
  // those without a city come last
  await grid.getByText('Sale 2', { exact: true }).waitFor();
  await records('699');
  noProblems(t);
});

t.test('what is wrong with a filter stands beside it, and nothing is asked', async (t) => {
  await go('/spaces/sales?where-gte.amount=680');
  await records('20');
  let requests = 0;
  const count = (request: Request) => void (request.url().includes('/sales/_') && requests++);
  page.on('request', count);
  await page.getByLabel('amount ≥').fill('many');
  await page.getByText('amount: Write a number').waitFor();
  t.equal(await page.getByLabel('amount ≥').getAttribute('aria-invalid'), 'true');
  await page.getByRole('button', { name: 'Export' }).click();
  await dialog.getByRole('button', { name: 'Export' }).click();
  await dialog.getByText('amount: Write a number').waitFor();
  t.equal(requests, 0);
  page.off('request', count);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  // once the table was empty, without a record that matches
  await records('20');
  await grid.getByText('Sale 699').waitFor();
  t.match(await grid.getAttribute('class'), /stale/, 'and dimmed');
  t.equal(await page.getByText('No record matches.').count(), 0);
  t.strictSame(await seriousFindings(page), []);
  await page.getByLabel('amount ≥').fill('690');
  await records('10');
  t.notMatch(await grid.getAttribute('class'), /stale/);
  await go('/spaces/sales?where-gte.amount=many');
  await page.getByText('amount: Write a number').waitFor();
  t.equal(await page.getByText('0 records').count(), 0, 'nothing was counted');
  noProblems(t);
});

t.test('a footer counts, sums and averages what matches', async (t) => {
  await go('/spaces/sales?where-gte.amount=40');
  await page.getByText('550 of 660 records loaded').waitFor();
  const asked: string[] = [];
  await page.route('**/_aggregate_', async (route) => {
    asked.push(route.request().postData() ?? '');
    await route.continue();
  });
  await page.getByRole('button', { name: 'Sums and averages' }).click();
  await page.getByText('amount sum 243,870, average 369.5').waitFor();
  t.equal(asked.length, 1, 'one request');
  await page.getByLabel('amount ≥').fill('690');
  await page.getByText('amount sum 6,945, average 694.5').waitFor();
  await page.unrouteAll();
  await page.route('**/_aggregate_', (route) =>
    route.fulfill({ status: 422, json: { message: 'It would read 7 rows', code: 'query_too_expensive' } }),
  );
  await page.getByLabel('amount ≥').fill('691');
  await page.getByText('It would read 7 rows').waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('amount sum 6,255, average 695').waitFor();
  t.match(problems.splice(0), [/422/]);
});

t.test('the count stayed what it was when records were deleted', async (t) => {
  await makeSpace(api, 'counted', [{ name: 'name', type: 'TEXT' }]);
  const body = Array.from({ length: 700 }, (_, n) => ({ name: `Name ${n}` }));
  await api('POST', `/${project}/counted`, { body });
  await go('/spaces/counted');
  await page.getByText('550 of 700 records loaded').waitFor();
  for (const row of ['1', '2', '3']) await page.getByLabel(`Select record ${row}`, { exact: true }).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete 3 records' }).click();
  await page.getByText('547 of 697 records loaded').waitFor();
  await page.getByLabel('Select all loaded records').check();
  await page.getByRole('button', { name: 'Select all 697 records' }).waitFor();
  noProblems(t);
});

t.test('an export and a deletion go by the filters', async (t) => {
  await go('/spaces/sales?where-between.amount=2..5&where-filled.city=');
  await records('2');
  await page.getByRole('button', { name: 'Export' }).click();
  const exported = JSON.parse(await exportedText(page)) as { amount: number }[];
  t.strictSame(
    exported.map(({ amount }) => amount),
    [4, 3],
  );
  await dialog.waitFor({ state: 'detached' });
  await page.getByLabel('Select all loaded records').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete 2 records' }).click();
  await page.getByText('No record matches.').waitFor();
  t.strictSame(await api('GET', `/${project}/sales/_count_?amount[lt]=10`), { count: 8 });
  noProblems(t);
});

t.test('a summary by a field and by time, as a table, as pictures and as code', async (t) => {
  await go('/spaces/sales?where-gte.amount=100');
  await page.getByText('550 of 600 records loaded').waitFor();
  await page.getByRole('link', { name: 'Summary' }).click();
  await page.getByText('Records with amount ≥ 100.').waitFor();
  await page.getByRole('table').getByText('600', { exact: true }).waitFor();
  await page.getByLabel('Group by').selectOption('city');
  await rowOf('Rome').getByText('200', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add a figure' }).click();
  await rowOf('Rome').getByText('79,700', { exact: true }).waitFor();
  await page.getByLabel('Figure', { exact: true }).last().selectOption('p50');
  await rowOf('Paris').getByText('402', { exact: true }).waitFor();
  await page.getByRole('img', { name: 'p50 of amount' }).waitFor();
  await page.getByLabel('By time').selectOption('createdAt');
  await page.getByLabel('Each').selectOption('1y');
  await page.waitForURL(/by=city&time=createdAt&every=1y&zone=[^&]+&value=count&value=p50\.amount$/);
  await page.reload();
  await rowOf('no value').getByText('401', { exact: true }).waitFor();
  await page.getByText('The request as code').click();
  const [curl, request = ''] = await page.locator('pre').allTextContents();
  t.match(curl, /^curl 'http.*\/sales\/_aggregate_'/);
  const body = JSON.parse(request.slice(request.indexOf('\n')));
  const rows = await api<{ city: string | null; count: number }[]>('POST', `/${project}/sales/_aggregate_`, {
    body,
  });
  t.strictSame(
    rows.map(({ city, count }) => [city, count]),
    [
      ['Paris', 200],
      ['Rome', 200],
      [null, 200],
    ],
  );
  await page.getByRole('link', { name: 'Records', exact: true }).click();
  await page.getByText('550 of 600 records loaded').waitFor();
  noProblems(t);
});

t.test('pictures left out groups, and did not shrink with the window', async (t) => {
  await makeSpace(api, 'towns', [{ name: 'town', type: 'TEXT' }]);
  const body = Array.from({ length: 36 }, (_, n) => ({
    town: `Town ${Math.floor((Math.sqrt(8 * n + 1) - 1) / 2)}`,
  }));
  await api('POST', `/${project}/towns`, { body });
  await page.setViewportSize({ width: 1400, height: 800 });
  await go('/spaces/towns/summary?by=town&time=createdAt&every=1y&value=count&value=max.town');
  await page.getByLabel('Groups').getByText('2 others').waitFor();
  // a bar of six groups and the others: all 36 records
  await page
    .getByRole('img', { name: 'count' })
    .getByText('36', { exact: false })
    .first()
    .waitFor({ state: 'attached' });
  t.equal(await page.getByRole('img', { name: 'count' }).locator('g > rect:not(.day)').count(), 7);
  const widths = 'document.documentElement.scrollWidth <= window.innerWidth';
  await page.setViewportSize({ width: 390, height: 800 });
  await eventuallyEqual(t, () => page.evaluate<boolean>(widths), true);
  await page.setViewportSize({ width: 1280, height: 800 });
  noProblems(t);
});

t.test('a summary that can not be: nothing matches, a wrong time zone, too much to read', async (t) => {
  await go('/spaces/sales/summary?where.name=none&by=city');
  await page.getByRole('heading', { name: 'No record matches' }).waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await rowOf('Rome').waitFor();
  await go('/spaces/sales/summary?time=createdAt&zone=Nowhere');
  const zone = page.locator('.field').filter({ hasText: 'Time zone' });
  await zone.getByText('should be the name of a time zone').waitFor();
  await page.getByLabel('Time zone').selectOption('UTC');
  await page.getByRole('img', { name: 'count' }).waitFor();
  await page.route('**/_aggregate_', (route) =>
    route.fulfill({ status: 422, json: { message: 'It would read 9 rows', code: 'query_too_expensive' } }),
  );
  await page.getByLabel('Group by').selectOption('name');
  await page.getByText('It would read 9 rows').waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Only the first 500 groups are shown.').waitFor();
  for (const problem of problems.splice(0)) t.match(problem, /400|422/);
});

t.test('times, days, whole numbers and decimals', async (t) => {
  await makeSpace(api, 'trips', [
    { name: 'at', type: 'DATETIME' },
    { name: 'day', type: 'DATE' },
    { name: 'seats', type: 'INTEGER' },
    { name: 'odometer', type: 'BIGINT' },
  ]);
  await go('/spaces/trips/structure');
  await page.getByRole('button', { name: 'Add a field' }).click();
  await dialog.getByLabel('Name').fill('price');
  await dialog.getByLabel('Type').selectOption('DECIMAL');
  await dialog.getByLabel('Digits', { exact: false }).first().fill('6');
  await dialog.getByLabel('Digits behind the point').fill('7');
  await dialog.getByRole('button', { name: 'Add the field' }).click();
  await dialog.getByText('write a whole number from 0 to 6').waitFor();
  await dialog.getByLabel('Digits behind the point').fill('2');
  await dialog.getByRole('button', { name: 'Add the field' }).click();
  await dialog.waitFor({ state: 'detached' });
  await go('/spaces/trips');
  await page.getByRole('button', { name: 'Add a record' }).first().click();
  await dialog.getByLabel('at DATETIME').fill('2026-01-31T12:00:00');
  await dialog.getByLabel('day DATE').fill('2026-01-31');
  await dialog.getByLabel('seats INTEGER').fill('4');
  await dialog.getByLabel('odometer BIGINT').fill('9007199254740993');
  await dialog.getByLabel('price DECIMAL').fill('12.345');
  await dialog.getByRole('button', { name: 'Add the record' }).click();
  await dialog.getByText('Write at most 2 digits behind the point.').waitFor();
  await dialog.getByText('Write a time and its zone').waitFor();
  await dialog.getByLabel('at DATETIME').fill('2026-01-31T12:00:00.123456+01:00');
  await dialog.getByLabel('price DECIMAL').fill('12.3');
  await dialog.getByRole('button', { name: 'Add the record' }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const text of ['2026-01-31T11:00:00.123456Z', '2026-01-31', '4', '9007199254740993', '12.30'])
    await grid.getByText(text, { exact: true }).waitFor();
  await api('POST', `/${project}/trips`, {
    body: [{ price: '0.70', day: '2026-02-01' }, { odometer: '-5' }],
  });
  await page.reload();
  await page.getByRole('button', { name: 'Sums and averages' }).click();
  await page.getByText('sum 13.00, average 6.50000000').waitFor();
  await page.getByText('sum 9007199254740988').waitFor();
  await page.getByLabel('at from').fill('2026-01-31');
  await page.getByLabel('at to').fill('2026-01-31');
  await page.getByText('1 record', { exact: true }).waitFor();
  await go('/spaces/trips/summary?time=day&every=1d&value=sum.price');
  await rowOf('2026-02-01').getByText('0.70').waitFor();
  await rowOf('no value').waitFor();
  t.equal(await page.getByLabel('Time zone').count(), 0, 'a day has none');
  await page.getByLabel('By time').selectOption('at');
  await page.getByLabel('Time zone').waitFor();
  await rowOf('2026-01-31').getByText('12.30').waitFor();
  noProblems(t);
});
