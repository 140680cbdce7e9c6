/** The table of records while its switch "Live" is on: what others do there is shown, in its place and with a mark. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { makeSpace, openRecords, project, seriousFindings } from '../services/records-browser.ts';

const { server, page, problems, api, go, noProblems, dialog, grid } = await openRecords();
t.teardown(() => server.close());

const live = page.getByRole('switch', { name: 'Live', exact: true });
// exactly: an id may have the letters of a name
const rowOf = (text: string) => grid.getByRole('row').filter({ has: page.getByText(text, { exact: true }) });
const marked = (text: string) => rowOf(text).and(grid.locator(':has(> .mark)'));
const status = (text: string) => page.getByRole('status').getByText(text, { exact: true });
const insert = (body: object) => api<{ id: string }>('POST', `/${project}/people/_single_`, { body });

/** Cells of the column, from above. */
const inColumn = (column: number) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.grid-body [aria-colindex="${column}"] .cut')].map((cell) => cell.textContent)`,
  );

async function streams(): Promise<number> {
  const text = await (await fetch(`${server.sluice.baseUrl}/metrics`)).text();
  return Number(/^sluice_live_streams\S* (\d+)$/m.exec(text)?.[1]);
}

t.test('what others insert, change and delete is shown with a mark, while the switch is on', async (t) => {
  await makeSpace(api, 'people', [
    { name: 'name', type: 'TEXT' },
    { name: 'age', type: 'NUMBER' },
  ]);
  await insert({ name: 'Ada', age: 36 });
  const { id } = await insert({ name: 'Grace', age: 85 });
  await go('/spaces/people?sort=age');
  await rowOf('Grace').waitFor();
  t.equal(await streams(), 0);
  await live.check();
  await status('Up to date').waitFor();
  t.equal(await streams(), 1);
  t.strictSame(await seriousFindings(page), []);

  // somebody else in another window
  const other = await server.open({ storageState: await page.context().storageState() });
  await other.page.goto(page.url());
  const otherGrid = other.page.getByRole('grid');
  await otherGrid.getByText('Grace', { exact: true }).waitFor();
  await other.page.getByRole('button', { name: 'Add a record' }).click();
  const form = other.page.getByRole('dialog');
  await form.getByRole('textbox', { name: 'name ' }).fill('Alan');
  await form.getByRole('textbox', { name: 'age ' }).fill('41');
  await form.getByRole('button', { name: 'Add the record' }).click();
  await marked('Alan').waitFor();
  t.strictSame(await inColumn(2), ['Ada', 'Alan', 'Grace'], 'in its place of the order');
  await status('3 records').waitFor();

  await api('POST', `/${project}/people/update-by-id?id=${id}`, { body: { age: 20 } });
  await marked('Grace').waitFor();
  t.strictSame(await inColumn(2), ['Grace', 'Ada', 'Alan'], 'a change moves a record');
  await grid.locator('.mark').first().waitFor({ state: 'detached' });

  await otherGrid.getByText('Ada', { exact: true }).click();
  await form.getByRole('button', { name: 'Delete' }).click();
  await other.page
    .getByRole('button', { name: /^Delete/ })
    .last()
    .click();
  await rowOf('Ada').waitFor({ state: 'detached' });
  await status('2 records').waitFor();

  await live.uncheck();
  await eventuallyEqual(t, streams, 0);
  await insert({ name: 'Edsger', age: 72 });
  await otherGrid.getByText('Alan', { exact: true }).waitFor();
  t.equal(await rowOf('Edsger').count(), 0);
  t.strictSame(other.problems, []);
  await other.page.context().close();
  noProblems(t);
});

t.test('filters hold, and neither an edit under way nor the selection is lost', async (t) => {
  await go('/spaces/people?where-gt.age=30');
  await live.check();
  await status('Up to date').waitFor();
  await rowOf('Edsger').getByRole('checkbox').check();
  await rowOf('Alan').getByText('Alan').click();
  const age = dialog.getByRole('textbox', { name: 'age ' });
  await age.fill('42');
  await insert({ name: 'Barbara', age: 29 });
  await insert({ name: 'Niklaus', age: 51 });
  await rowOf('Niklaus').waitFor();
  t.equal(await rowOf('Barbara').count(), 0);
  t.equal(await age.inputValue(), '42');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await marked('Alan').getByText('42', { exact: true }).waitFor();
  t.ok(await rowOf('Edsger').getByRole('checkbox').isChecked());
  t.notOk(await rowOf('Niklaus').getByRole('checkbox').isChecked());
  t.equal(await streams(), 1);
  await page.getByRole('link', { name: 'Structure' }).click();
  await eventuallyEqual(t, streams, 0);
  noProblems(t);
});

t.test('the active cell stays at its record when others come above it', async (t) => {
  await go('/spaces/people');
  await live.check();
  await status('Up to date').waitFor();
  await grid.focus();
  await page.keyboard.press('ArrowDown');
  const active = grid.getByRole('row').filter({ has: page.locator('.active') });
  await active.getByText('Barbara').waitFor();
  await insert({ name: 'Donald', age: 86 });
  await rowOf('Donald').waitFor();
  await active.getByText('Barbara').waitFor();
  noProblems(t);
});

/** As if another tab were in front, or not any more. */
const setHidden = (hidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

t.test('what nobody sees asks for nothing, and goes on from its place', async (t) => {
  await setHidden(true);
  await eventuallyEqual(t, streams, 0);
  await insert({ name: 'Margaret', age: 87 });
  const asked = page.waitForRequest((request) => request.headers().accept === 'text/event-stream');
  await setHidden(false);
  t.match((await asked).headers()['last-event-id'], /^\S+\.\S+$/);
  await marked('Margaret').waitFor();
  noProblems(t);
});

t.test('a request that gets no answer is made again; a refusal is shown', async (t) => {
  let requests = 0;
  await page.route('**/_find_', async (route) => {
    if (route.request().headers().accept !== 'text/event-stream') return route.continue();
    requests += 1;
    if (requests === 1) return route.abort();
    if (requests === 2) return route.continue();
    return route.fulfill({ status: 403, json: { code: 'forbidden', message: 'Not for you.' } });
  });
  await live.uncheck();
  await live.check();
  await status('Up to date').waitFor();
  t.equal(requests, 2);
  await live.uncheck();
  await live.check();
  await page.getByRole('alert').getByText('Not for you.').waitFor();
  await page.unroute('**/_find_');
  t.match(problems.splice(0), [/ERR_FAILED/, /403/]);
});

t.test('of more than 10,000 records changes come at once, and removals by looking', async (t) => {
  const body = Array.from({ length: 10_100 }, (_, n) => ({ name: `Person ${n}` }));
  for (let from = 0; from < body.length; from += 2000)
    await api('POST', `/${project}/people`, { body: body.slice(from, from + 2000) });
  await go('/spaces/people');
  await live.check();
  await status('Removals take 5 s').waitFor();
  const { id } = await insert({ name: 'Last of all' });
  await marked('Last of all').waitFor();
  await page.getByText(/of 10,1\d\d records loaded/).waitFor();
  await api('POST', `/${project}/people/_delete_`, { body: { where: { id } } });
  await rowOf('Last of all').waitFor({ state: 'detached' });
  // what the browser itself says of the 413
  t.match(problems.splice(0), [/413/]);
});
