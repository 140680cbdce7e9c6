/** Folders of files in the dashboard. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openFiles } from '../services/files-browser.ts';
import { samplePng } from '../services/sample-media.ts';

const { server, page, problems, put, usable } = await openFiles({ FILE_LINKS: 'private' });
t.teardown(() => server.close());

t.test('files of a folder are listed with their paths, shared and deleted together', async (t) => {
  const first = await put('album', { name: 'p10.png', type: 'image/png', body: samplePng(10) }, 'folder=new');
  const folder = first.folder ?? '';
  const inFolder = new URLSearchParams({ folder, path: 'day 2/beach.png' });
  await put('album', { name: 'x.png', type: 'image/png', body: samplePng(50) }, `${inFolder}`);
  await put('album', { name: 'p90.png', type: 'image/png', body: samplePng(90) });
  await page.goto(server.url('/projects/album/files?view=grid'));
  const tiles = page.locator('.tile');
  await eventuallyEqual(t, () => tiles.count(), 3);
  await page.getByText('day 2/beach.png').waitFor();
  await usable(t, 'folders');
  await page.getByLabel('Folder', { exact: true }).selectOption(folder);
  await page.waitForURL(`**/files?view=grid&folder=${folder}`);
  await eventuallyEqual(t, () => tiles.count(), 2);
  const bar = page.getByRole('region', { name: 'Folder' });
  await bar.getByText(`${server.sluice.baseUrl}/_f_/album/${folder}/`).waitFor();
  await usable(t, 'folder');
  await bar.getByText('Expiring link').click();
  await page.context().grantPermissions(['clipboard-write', 'clipboard-read']);
  await bar.getByRole('button', { name: 'Create and copy' }).click();
  await bar.getByLabel('Copy the expiring link').waitFor();
  const link = await page.evaluate<string>('navigator.clipboard.readText()');
  t.equal((await fetch(`${link}day%202/beach.png`)).status, 200, link);
  t.equal((await fetch(`${link}day%202/other.png`)).status, 404);

  await bar.getByRole('button', { name: 'Delete the folder' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the folder' }).click();
  await page.getByText('Folder deleted.').waitFor();
  await eventuallyEqual(t, () => tiles.count(), 1);
  t.equal((await fetch(`${link}day%202/beach.png`)).status, 404);
  t.strictSame(problems.splice(0), []);
});
