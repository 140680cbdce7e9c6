/** Rules of files as a person sets them, and files as a user would see them. */
import t from 'tap';
import { makeToken } from '../services/console-browser.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { openRecords, project, seriousFindings } from '../services/records-browser.ts';

const { server, page, problems, go } = await openRecords();
t.teardown(() => server.close());
const token = await makeToken(server, page, 'files');

async function call(path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers };
  const response = await fetch(server.sluice.baseUrl + path, { ...init, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${text}`);
  return JSON.parse(text);
}

/** A user who is logged in. */
async function userOf(name: string): Promise<{ readonly id: string; readonly token: string }> {
  const structure = structureOf(project, 'users', fieldsOf('name TEXT unique, password TEXT hashed'));
  const body = JSON.stringify({ name, password: 'right' });
  const resources = JSON.stringify({ mustExistSpaceStructures: [JSON.parse(structure)] });
  const made = await call(`/${project}/users/_single_`, { method: 'POST', body, headers: { structure } });
  const login = await call(`/${project}/function/login`, {
    ...{ method: 'POST', body, headers: { 'function-resources': resources } },
  });
  return { id: made.id, token: login.token };
}

t.test('rules are written, refused, saved, and files are seen as a user', async (t) => {
  await go('/files');
  await page.getByRole('link', { name: 'Preview the rules' }).click();
  const rules = page.getByLabel('Rules', { exact: true });
  await rules.waitFor();
  t.match(problems.splice(0), [/ 404/], 'the project does not exist yet, and has no rules');
  const ada = await userOf('ada');
  const save = page.getByRole('button', { name: 'Save the rules' });
  await rules.fill('{"read": {"colour": "red"}}');
  await save.click();
  await page
    .getByRole('alert')
    .getByText(/'colour'/)
    .first()
    .waitFor();
  t.match(problems.splice(0), [/ 400/], 'the refusal alone');
  const own = { owner: '$user.id' };
  const image = { contentType: { startsWith: 'image/' } };
  const given = { upload: true, list: own, read: { $or: [own, image] }, maxBytes: 5 };
  await rules.fill(JSON.stringify(given));
  await save.click();
  await page.getByLabel('Warnings').getByText('Everybody can upload files, without logging in').waitFor();
  await page.getByRole('row', { name: /list.*none.*owner = \$user\.id/ }).waitFor();

  const put = (name: string, type: string, more: Readonly<Record<string, string>> = {}) =>
    call(`/_f_/${project}/${name}`, { method: 'PUT', body: 'x', headers: { 'content-type': type, ...more } });
  await put('letter.txt', 'text/plain');
  await put('cat.png', 'image/png');
  await put('mine.txt', 'text/plain', { 'sluice-act-as-user': 'true', token: ada.token });
  const see = page.getByRole('button', { name: 'Try the rules' });
  const cells = async (): Promise<string[]> =>
    (
      await page.getByRole('table', { name: 'What the user may do' }).getByRole('row').allTextContents()
    ).slice(1);
  await see.click();
  await page.getByRole('row', { name: /cat\.png no yes no/ }).waitFor();
  t.match(
    await cells(),
    [/mine\.txt.*nonono/, /cat\.png.*noyesno.*contentType is "image\/png"/, /letter\.txt.*nonono/],
    'a stranger',
  );
  await page.getByLabel('User').fill('name=ada');
  await see.click();
  await page.getByRole('row', { name: /mine\.txt yes yes no/ }).waitFor();
  t.match(
    await cells(),
    [
      /mine\.txt.*yesyesno.*owner is.*delete: the rules allow nobody/,
      /cat\.png.*noyesno/,
      /letter\.txt.*nonono/,
    ],
    'the owner of one',
  );
  t.strictSame(await seriousFindings(page), []);
  const folder = process.env.SCREENSHOTS;
  if (folder !== undefined)
    for (const width of [1400, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: `${folder}/file-rules-${width}.png`, fullPage: true });
    }
  await page.setViewportSize({ width: 390, height: 800 });
  t.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    'a phone scrolls in one direction',
  );
  await page.setViewportSize({ width: 1280, height: 800 });

  // an answer about the user before does not stay below a refusal
  await page.getByLabel('User').fill('nobody');
  await see.click();
  await page.getByRole('alert').getByText("There is no user with the id 'nobody'").waitFor();
  t.equal(await page.getByRole('table', { name: 'What the user may do' }).count(), 0);
  t.match(problems.splice(0), [/ 400/], 'the refusal alone');
  await page.getByLabel('User').fill('');
  await page.getByLabel('Show').selectOption({ label: 'a file to upload' });
  await see.click();
  await page.getByRole('row', { name: /new file no size is 1000; maxBytes is 5/ }).waitFor();
  await page.getByLabel('Bytes').fill('5');
  await see.click();
  await page.getByRole('row', { name: /new file yes/ }).waitFor();

  const preview = page.getByRole('region', { name: 'Preview the rules' });
  t.equal(await preview.getByText('(optional)').count(), 1, 'the user alone');
  for (const wrong of ['abc', '', '1.5', '-1']) {
    await page.getByLabel('Bytes').fill(wrong);
    await see.click();
    await preview.getByRole('alert').getByText('Bytes should be a whole number, such as 1000.').waitFor();
  }
  await save.click();
  await preview.getByRole('alert').waitFor({ state: 'detached' });

  await page.reload();
  await page.getByRole('row', { name: /list.*none.*owner = \$user\.id/ }).waitFor();
  t.match(await rules.inputValue(), /"maxBytes": 5/, 'as they were saved');
  await rules.fill('');
  await save.click();
  await page.getByRole('table', { name: /Who may do what/ }).waitFor({ state: 'detached' });
  t.strictSame(problems, []);
});
