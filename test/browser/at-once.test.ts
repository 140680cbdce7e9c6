/** What somebody does at once, before a page has settled, counts: keys, a second filter, one more letter. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { makeSpace, openRecords, project } from '../services/records-browser.ts';

const { server, page, api, go } = await openRecords();
t.teardown(() => server.close());

/** Clicks, and says what holds as soon as the click has been dealt with. The policy lets the page evaluate nothing later. */
const afterClick = (name: string, condition: string): Promise<unknown> =>
  page.evaluate(`new Promise((resolve) => {
    [...document.querySelectorAll('button, a')].find((element) => element.textContent.trim() === '${name}').click();
    setTimeout(() => resolve(${condition}));
  })`);

t.before(async () => {
  await makeSpace(api, 'people', [
    { name: 'name', type: 'TEXT' },
    { name: 'age', type: 'NUMBER' },
  ]);
  const people = ['Ada', 'Grace', 'Alan'].map((name, age) => ({ name, age }));
  await api('POST', `/${project}/people`, { body: people });
});

t.test('a dialog is open, and has the focus, with the click that opens it', async (t) => {
  const open = `document.querySelector('dialog')?.matches(':modal:focus-within')`;
  await page.goto(server.url('/tokens'));
  await page.getByRole('row', { name: /test/ }).waitFor();
  t.equal(await afterClick('New token', open), true);
  t.equal(await page.evaluate('document.activeElement.tagName'), 'INPUT', 'in its first field');
  await go('/spaces/people');
  await page.getByText('Grace').waitFor();
  t.equal(await afterClick('Add a record', open), true);
  t.equal(await page.evaluate('document.activeElement.dataset.field'), '0', 'in its first field');
});

t.test('the focus is on the heading with the page, and goes nowhere later', async (t) => {
  await page.goto(server.url('/projects'));
  await page.getByRole('row', { name: /demo/ }).waitFor();
  t.equal(await afterClick('Tokens', 'document.activeElement.textContent'), 'Access tokens');
});

t.test('the button of a page stays where it is while its list is loaded', async (t) => {
  let answer: (() => void) | undefined;
  await page.route('**/_console_/api/tokens', async (route) => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    await route.fulfill({ json: { tokens: [] } });
  });
  await page.goto(server.url('/tokens'));
  await page.getByRole('button', { name: 'New token' }).focus();
  await eventuallyEqual(t, () => answer !== undefined, true);
  answer?.();
  await page.getByRole('heading', { name: 'No access tokens yet' }).waitFor();
  t.equal(await page.evaluate('document.activeElement.textContent'), 'New token');
  await page.unrouteAll();
});

t.test('two filters that are typed one right after the other both count', async () => {
  await go('/spaces/people');
  await page.getByText('Grace').waitFor();
  // within the half second after which a filter counts by itself
  await page.evaluate(`for (const [label, text] of [['name equals', 'Grace'], ['age equals', '1']]) {
    const input = document.querySelector('[aria-label="' + label + '"]');
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }`);
  await page.waitForURL('**/people?where.name=Grace&where.age=1');
  await page.getByText('1 record', { exact: true }).waitFor();
});

t.test('a letter that follows while a search begins is not lost', async (t) => {
  await page.goto(server.url(`/projects/${project}/files?type=text%2F`));
  const search = page.getByLabel('Search by name');
  await search.waitFor();
  // right behind the change of the address, when the page knows of it and has not drawn it yet
  await page.evaluate(`{
    const input = document.querySelector('[placeholder="Search by name"]');
    const type = (text) => {
      input.value = text;
      input.dispatchEvent(new Event('input', { bubbles: true }));
    };
    const change = history.replaceState;
    history.replaceState = (...args) => {
      history.replaceState = change;
      history.replaceState(...args);
      queueMicrotask(() => queueMicrotask(() => type('abc')));
    };
    type('ab');
  }`);
  await page.waitForURL('**name=ab');
  await page.waitForURL('**name=abc');
  t.equal(await search.inputValue(), 'abc');
});
