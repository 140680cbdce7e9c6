/** What looked wrong on a phone, and small things that a first look at the dashboard trips over. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { makeSpace, openRecords, project } from '../services/records-browser.ts';

const { server, page, api, go, dialog, noProblems } = await openRecords();
t.teardown(() => server.close());

const fields = Array.from({ length: 7 }, (_, n) => ({ name: `field ${n}`, type: 'TEXT', required: n === 0 }));
const narrow = { width: 390, height: 800 };
const wide = { width: 1280, height: 800 };

t.test('each field of a structure took six lines of dashes', async (t) => {
  await makeSpace(api, 'orders', fields);
  await page.setViewportSize(narrow);
  await go('/spaces/orders/structure');
  const cells = page.getByRole('row').filter({ hasText: 'field 1' }).locator('td:visible');
  await cells.first().waitFor();
  t.match(await cells.allTextContents(), [/TEXT/, ''], 'its type and its buttons');
  await page.setViewportSize(wide);
  await eventuallyEqual(t, () => cells.count(), 6);
  t.equal(await cells.nth(1).evaluate((cell) => getComputedStyle(cell, '::before').content), '"–"');
});

t.test('fields for a search ended before the cards, and the switch stood in the middle', async (t) => {
  await api('POST', `/${project}/orders`, { body: [{ 'field 0': 'a' }] });
  await page.setViewportSize(narrow);
  await go('/spaces/orders');
  await page.getByText('1 record', { exact: true }).waitFor();
  const widthOf = async (locator: ReturnType<typeof page.locator>) =>
    (await locator.boundingBox())?.width ?? 0;
  const tools = await page.locator('.records-tools').boundingBox();
  t.equal(await widthOf(page.getByRole('searchbox')), tools?.width);
  const offset = ((await page.getByRole('switch').boundingBox())?.x ?? 0) - (tools?.x ?? 0);
  t.ok(offset < 8, `${offset} pixels from the left`);
  await go('');
  await page.getByRole('row').filter({ hasText: 'orders' }).waitFor();
  t.equal(await widthOf(page.getByRole('searchbox')), await widthOf(page.locator('.table-box')));
  noProblems(t);
});

t.test('columns of a preview were hidden without a sign', async (t) => {
  await page.setViewportSize(wide);
  await go('/spaces/orders');
  await page.getByRole('button', { name: 'Import', exact: true }).first().click();
  const buffer = Buffer.from(`${fields.map(({ name }) => name).join(',')}\n1,2,3,4,5,6,7\n`);
  await dialog.locator('input[type=file]').setInputFiles({ name: 'a.csv', mimeType: '', buffer });
  const preview = dialog.getByRole('region', { name: 'The first rows' });
  await preview.waitFor();
  const [inner, outer] = await preview.evaluate((box) => [box.scrollWidth, box.clientWidth] as const);
  t.ok(inner > outer, 'there is more');
  const edge = async () => {
    const { x = 0, y = 0, width = 0, height = 0 } = (await preview.boundingBox()) ?? {};
    return page.screenshot({ clip: { x: x + width - 6, y: y + height - 12, width: 4, height: 4 } });
  };
  const before = await edge();
  await preview.evaluate((box) => box.scrollTo({ left: 10_000 }));
  await eventuallyEqual(t, async () => before.equals(await edge()), false, 'a shadow at the edge');
  await page.keyboard.press('Escape');
});

t.test('grants were bold like the name of their token', async (t) => {
  await page.goto(server.url('/tokens'));
  await page.getByRole('button', { name: 'New token' }).first().click();
  await page.getByLabel('Name').fill('reader');
  await page.getByText('Limit what it may do').click();
  await page.getByLabel('see the usage', { exact: true }).uncheck();
  await page.getByRole('button', { name: 'Create the token' }).click();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const grants = page.getByText('may do everything but see the usage');
  await grants.waitFor();
  t.equal(await grants.evaluate((text) => getComputedStyle(text).fontWeight), '400');
});

t.test('the sample of rules looked like rules in force', async (t) => {
  await go('/spaces/orders/rules');
  const rules = page.getByLabel('Rules', { exact: true });
  await rules.waitFor();
  t.equal(await rules.getAttribute('placeholder'), null);
  await page.getByText('An example').click();
  await page.getByText('"owner": "$user.id"').first().waitFor();
  noProblems(t);
});
