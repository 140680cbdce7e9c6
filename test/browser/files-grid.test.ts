/** Files as pictures, with an expiry, and in the trash; the presets of a project. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openFiles } from '../services/files-browser.ts';
import { samplePng } from '../services/sample-media.ts';

const { server, page, problems, put, usable } = await openFiles({ TRASH_DAYS: '30', FILE_LINKS: 'private' });
t.teardown(() => server.close());

const png = (hue: number) => ({ name: `p${hue}.png`, type: 'image/png', body: samplePng(hue) });

t.test('a grid of small originals, where there are no presets', async (t) => {
  for (const hue of [0, 40, 80, 120, 160, 200, 240]) await put('plain', png(hue));
  const large = new Uint8Array(300_000);
  large.set(samplePng(300).subarray(0, 8));
  await put('plain', { name: 'large.png', type: 'image/png', body: large });
  await put('plain', { name: 'notes.txt', type: 'text/plain', body: 'notes' });
  await put('plain', { name: 'soon.txt', type: 'text/plain', body: 'x' }, `expiresIn=${3 * 86_400 + 60}`);
  const fetched: string[] = [];
  page.on('request', (request) => {
    if (request.resourceType() === 'image') fetched.push(request.url());
  });
  await page.goto(server.url('/projects/plain/files'));
  await page.getByRole('row', { name: /soon\.txt gone in 3 days/ }).waitFor();
  await page.getByRole('radio', { name: 'Pictures' }).check();
  await page.waitForURL('**/files?view=grid');
  const grid = page.getByRole('list', { name: 'Files of plain' });
  await eventuallyEqual(t, () => grid.getByRole('listitem').count(), 10);
  await eventuallyEqual(t, () => grid.locator('img').count(), 7);
  t.notOk(fetched.some((url) => url.includes('large')));
  await usable(t, 'grid-plain');

  // arrows move between pictures
  const focused = () => page.evaluate<string>('document.activeElement.title');
  await page.getByRole('button', { name: 'soon.txt', exact: true }).focus();
  await page.keyboard.press('ArrowRight');
  t.equal(await focused(), 'notes.txt');
  await page.keyboard.press('ArrowDown');
  const below = await focused();
  t.match(below, /^p\d+\.png$/);
  await page.keyboard.press('ArrowUp');
  t.equal(await focused(), 'notes.txt');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'notes.txt' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  t.equal(await focused(), 'notes.txt', 'the focus is back');

  await page.reload();
  await grid.waitFor();
  await page.getByRole('radio', { name: 'List' }).check();
  await page.getByRole('row', { name: /notes\.txt/ }).waitFor();
  t.strictSame(problems.splice(0), []);
});

t.test('a deleted file is in the trash, comes back, and is gone for good', async (t) => {
  for (const hue of [10, 50, 90]) await put('bin', png(hue));
  await page.goto(server.url('/projects/bin/files'));
  await page.getByLabel('Select p10.png').check();
  await page.getByLabel('Select p50.png').check();
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByText('Files in the trash can be restored for 30 days.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByText('2 files deleted.').waitFor();
  await page.getByRole('link', { name: 'Trash' }).click();
  await page.getByRole('row', { name: /p10\.png .* gone in 30 days/ }).waitFor();
  await usable(t, 'trash');
  await page.getByRole('button', { name: 'Restore p10.png' }).click();
  await page.getByText('1 file restored.').waitFor();
  await page.getByRole('row', { name: /p10\.png/ }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete p50.png for good' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 file' }).click();
  await page.getByRole('heading', { name: 'The trash is empty' }).waitFor();
  await page.getByRole('navigation', { name: 'Files by state' }).getByRole('link', { name: 'Files' }).click();
  await page.getByRole('row', { name: /p10\.png/ }).waitFor();
  t.equal(await page.getByRole('row').count(), 3, 'two files');

  // many at once
  await page.getByLabel('2 files').check();
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByText('2 files deleted.').last().waitFor();
  await page.getByRole('link', { name: 'Trash' }).click();
  await page.getByLabel('2 files').check();
  await page.getByRole('button', { name: 'Restore 2 files' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore 2 files' }).click();
  await page.getByText('2 files restored.').waitFor();
  await page.getByRole('heading', { name: 'The trash is empty' }).waitFor();
  t.strictSame(problems.splice(0), []);
});

t.test('presets of a project are made, and its grid loads pictures by them', async (t) => {
  for (const hue of [20, 60, 100, 140]) {
    // too large to be a thumbnail of itself
    const body = Buffer.concat([samplePng(hue, 1200, 900), new Uint8Array(300_000)]);
    await put('sized', { name: `big-${hue}.png`, type: 'image/png', body });
  }
  await put('sized', { name: 'broken.png', type: 'image/png', body: 'no picture' });
  await page.goto(server.url('/projects/sized/files'));
  await page.getByRole('link', { name: 'Presets' }).click();
  await page.getByRole('heading', { name: 'No presets yet' }).waitFor();
  const dialog = page.getByRole('dialog');
  const make = async (name: string, width: string, height: string): Promise<void> => {
    await page.getByRole('button', { name: 'New preset' }).first().click();
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Width').fill(width);
    await dialog.getByLabel('Height').fill(height);
    await dialog.getByRole('button', { name: 'Create the preset' }).click();
  };
  await make('Big', '0', '5000');
  const alert = dialog.getByRole('alert');
  await alert.getByText('The name should have 1 to 32 small letters').waitFor();
  await alert.getByText('The width should be a whole number from 1 to 4096.').waitFor();
  await alert.getByText('The height should be a whole number from 1 to 4096.').waitFor();
  await dialog.getByLabel('Name').fill('card');
  await dialog.getByLabel('Width').fill('320');
  await dialog.getByLabel('Height').fill('320');
  await dialog.getByRole('button', { name: 'Create the preset' }).click();
  await page.getByRole('row', { name: /card 320 × 320 pixels Fills the box.* the project/ }).waitFor();
  await make('card', '100', '100');
  await alert.getByText('The project has a preset card already.').waitFor();
  await dialog.getByLabel('Name').fill('large');
  await dialog.getByLabel('Width').fill('700');
  await dialog.getByLabel('Height').fill('700');
  await dialog.getByRole('button', { name: 'Create the preset' }).click();
  await page.getByRole('row', { name: /large 700/ }).waitFor();
  await make('tiny', '64', '64');
  await page.getByRole('row', { name: /tiny/ }).waitFor();
  await usable(t, 'presets');

  await page.goto(server.url('/projects/sized/files?view=grid'));
  const pictures = page.locator('.file-grid img');
  await eventuallyEqual(t, () => pictures.count(), 4, 'an icon for the broken one');
  const loaded = (): Promise<unknown> =>
    pictures.evaluateAll((all) =>
      (all as unknown as { naturalWidth: number; currentSrc: string }[]).map(
        ({ naturalWidth, currentSrc }) => [naturalWidth > 0, /preset=card$/.test(currentSrc)],
      ),
    );
  await eventuallyEqual(t, loaded, Array(4).fill([true, true]));
  t.match(problems.splice(0).join(), / 422 /, 'the broken picture alone');
  await usable(t, 'grid-presets');
  problems.splice(0);

  await page.goto(server.url('/projects/sized/files/presets'));
  await page.getByRole('button', { name: 'Change card' }).click();
  await dialog.getByLabel('Picture').selectOption({ label: 'Fits into the box' });
  await dialog.getByRole('button', { name: 'Change the preset' }).click();
  await page.getByRole('row', { name: /card 320 × 320 pixels Fits into the box/ }).waitFor();
  await page.getByRole('button', { name: 'Delete card' }).click();
  await dialog.getByRole('button', { name: 'Delete the preset' }).click();
  await page.getByRole('row', { name: /card/ }).waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /large/ }).waitFor();
  t.strictSame(problems.splice(0), []);
});
