/** Uploads that fail, are cancelled, are many, or come from a folder. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { closeByEscape, openConsole, register, throttle } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { jpegWithExif } from '../services/jpeg-with-exif.ts';

const server = await openConsole();
t.teardown(() => server.close());
const { page } = await server.open();
await register(server, page);
// what a test that failed left is not for the next one
t.beforeEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

const rows = page.getByRole('row');
/** What 2026-11-25 and the button of the calendar take. Pixels. */
const wholeDate = 125;
const input = page.locator('input[type=file]').first();
const text = (name: string, bytes = 10) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.alloc(bytes, 97),
});

t.test('a failed one says why, and can be tried again', async (t) => {
  await page.goto(server.url('/projects/failed/files'));
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  await page.route('**/upload', (route) => route.abort(), { times: 1 });
  await input.setInputFiles(text('once.txt'));
  await page.getByText('The server did not answer.').waitFor();
  t.equal(await page.getByRole('row', { name: /once/ }).count(), 0);
  await page.getByRole('button', { name: 'Retry the upload of once.txt' }).click();
  await page.getByRole('row', { name: /once\.txt/ }).waitFor();
});

t.test('a refusal of the server is shown in its own words, and another try is not offered', async (t) => {
  await page.goto(server.url('/projects/refused/files'));
  await page.route(
    '**/upload',
    (route) =>
      route.fulfill({
        status: 413,
        contentType: 'application/json',
        body: JSON.stringify({ code: 'payload_too_large', message: 'The file exceeds 100 MB', error: [] }),
      }),
    { times: 1 },
  );
  await input.setInputFiles(text('large.txt'));
  await page.getByText('The file exceeds 100 MB').waitFor();
  t.equal(await page.getByRole('button', { name: /Retry/ }).count(), 0);
});

t.test('a cancelled one leaves nothing', async (t) => {
  await page.goto(server.url('/projects/cancelled/files'));
  const { slowDown, detach } = await throttle(page);
  // with it ends what it has set
  t.teardown(detach);
  await slowDown(20_000);
  await input.setInputFiles(text('slow.txt', 2_000_000));
  await page.getByRole('button', { name: 'Cancel the upload of slow.txt' }).click();
  await page.getByText('Cancelled', { exact: true }).waitFor();
  await slowDown(-1);
  await page.reload();
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  t.equal(await rows.count(), 0);
});

t.test('three are under way at once', async (t) => {
  await page.goto(server.url('/projects/many/files'));
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  let open = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  await page.route('**/upload', async (route) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve) => waiting.push(resolve));
    open -= 1;
    await route.continue();
  });
  const names = Array.from({ length: 8 }, (_, index) => `file-${index}.txt`);
  await input.setInputFiles(names.map((name) => text(name)));
  const bars = () =>
    page.locator('.bars progress').evaluateAll((all) => all.map((bar) => bar.getAttribute('aria-label')));
  for (let left = 8; left > 0; left -= 1) {
    await eventuallyEqual(t, () => waiting.length, Math.min(3, left));
    t.strictSame(await bars(), names, 'bars stay where they are');
    // later ones are done before earlier ones
    waiting.pop()?.();
  }
  await page.getByText('8 files uploaded to many.').waitFor();
  await page.unroute('**/upload');
  t.strictSame(await bars(), names);
  t.equal(most, 3);
  await eventuallyEqual(t, () => rows.count(), 9, 'the head and eight files');
});

t.test('at 360 pixels the boxes of dates cut their text off', async (t) => {
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 720 };
  t.teardown(() => page.setViewportSize({ width, height }));
  await page.setViewportSize({ width: 360, height: 720 });
  for (const label of ['Uploaded from', 'Uploaded until']) {
    const box = await page.getByLabel(label).boundingBox();
    t.ok(
      box !== null && box.width >= wholeDate && box.x + box.width <= 360,
      `${label}: ${box?.width} pixels`,
    );
  }
});

t.test('a folder, with what is in it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-folder-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'inner'));
  await writeFile(join(folder, 'one.txt'), '1');
  await writeFile(join(folder, 'inner/two.txt'), '2');
  await page.goto(server.url('/projects/folder/files'));
  await page.locator('input[type=file]').last().setInputFiles(folder);
  await page.getByText('2 files uploaded to folder.').waitFor();
  await page.getByRole('row', { name: /two\.txt/ }).waitFor();
  t.match(await page.getByRole('progressbar').last().getAttribute('aria-label'), /\//, 'with its folder');
});

t.test('a dropped folder, with more files than the browser names at once', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'sluice-drop-'));
  t.teardown(() => rm(parent, { recursive: true }));
  const [deep, wide] = [join(parent, 'album'), join(parent, 'holiday')];
  await mkdir(join(deep, 'inner/empty'), { recursive: true });
  await writeFile(join(deep, 'inner/deep.txt'), 'deep');
  await mkdir(wide);
  const names = Array.from({ length: 130 }, (_, index) => `photo-${index}.txt`);
  for (const name of names) await writeFile(join(wide, name), name);
  await page.goto(server.url('/projects/dropped-folder/files'));
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  const debug = await page.context().newCDPSession(page);
  // as the system hands it to the browser
  // the order within a folder is the file system's
  const data = { items: [], files: [deep, wide], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver'] as const)
    await debug.send('Input.dispatchDragEvent', { type, x: 600, y: 400, data });
  await page.getByText('Drop to upload to dropped-folder').waitFor();
  await debug.send('Input.dispatchDragEvent', { type: 'drop', x: 600, y: 400, data });
  await page.getByText('131 files uploaded to dropped-folder.').waitFor();
  const bars = page.getByRole('progressbar');
  const labels = await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute('aria-label')));
  t.ok(labels.includes('album/inner/deep.txt'), 'with its folders');
  t.equal(new Set(labels).size, 100, 'a bar each, of the first hundred');
  await page.getByText('… and 31 more').waitFor();
  t.equal(await page.getByText('Drop to upload to').count(), 0);
  await page.getByLabel('Search by name').fill('deep');
  await page.getByRole('row', { name: /deep\.txt/ }).waitFor();
});

t.test('dropped files', async () => {
  await page.goto(server.url('/projects/dropped/files'));
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  const transfer = await page.evaluateHandle(`
    const data = new DataTransfer();
    for (const name of ['a.txt', 'b.txt']) data.items.add(new File([name], name, { type: 'text/plain' }));
    data`);
  for (const event of ['dragenter', 'dragover', 'drop']) {
    await page.dispatchEvent('header', event, { dataTransfer: transfer });
  }
  await page.getByText('2 files uploaded to dropped.').waitFor();
});

t.test('thumbnails of a list of photographs cost the whole files', async (t) => {
  const drawn = await page.evaluate<string>(`
    Object.assign(document.createElement('canvas'), { width: 16, height: 16 }).toDataURL('image/jpeg')`);
  const picture = Buffer.from(drawn.split(',')[1] ?? '', 'base64');
  const rest = new Uint8Array(1_100_000);
  const photo = Buffer.from(jpegWithExif({ picture, orientation: 6, rest }));
  await page.goto(server.url('/projects/photos/files'));
  const asked: (string | undefined)[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    const reads = request.method() === 'GET' && /^\/_f_\/photos\/./.test(pathname);
    if (reads) asked.push(request.headers().range);
  });
  await input.setInputFiles([
    { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: photo },
    { name: 'large.png', mimeType: 'image/png', buffer: Buffer.concat([picture, rest]) },
  ]);
  await page.getByRole('row', { name: /large\.png/ }).waitFor();
  const shown = page.getByRole('row', { name: /photo\.jpg/ }).locator('.thumbnail img');
  t.equal(await shown.getAttribute('src'), drawn);
  t.match(await shown.getAttribute('style'), /90deg/, 'it lay as the sensor did');
  t.equal(
    await page
      .getByRole('row', { name: /large\.png/ })
      .locator('.thumbnail img')
      .count(),
    0,
  );
  t.strictSame(asked, ['bytes=0-67999']);
});

t.test('deletes the chosen ones, after asking', async (t) => {
  await page.goto(server.url('/projects/many/files'));
  await page.getByLabel('Select file-1.txt').check();
  await page.getByLabel('Select file-2.txt').check();
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await closeByEscape(page.getByRole('dialog'));
  t.equal(await rows.count(), 9, 'Escape deletes nothing');
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 files' }).click();
  await page.getByText('2 files deleted.').waitFor();
  await eventuallyEqual(t, () => rows.count(), 7);
  await page.reload();
  await page.getByRole('row', { name: /file-3/ }).waitFor();
  await eventuallyEqual(t, () => rows.count(), 7);
});

t.test('a filter stands in the address', async (t) => {
  await page.goto(server.url('/projects/many/files'));
  await page.getByLabel('Search by name').fill('file-3');
  await page.waitForURL('**/files?name=file-3');
  await eventuallyEqual(t, () => rows.count(), 2);
  await page.reload();
  await page.getByRole('row', { name: /file-3/ }).waitFor();
  await eventuallyEqual(t, () => rows.count(), 2);
  await page.getByLabel('Type').selectOption('Images');
  await page.getByRole('heading', { name: 'No matching files' }).waitFor();
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await page.getByRole('row', { name: /file-4/ }).waitFor();
});

t.test('a token that was revoked is renewed by itself', async (t) => {
  let asked = 0;
  await page.route('**/_f_/many?**', async (route) => {
    asked += 1;
    if (asked > 1) return route.continue();
    await route.fulfill({ status: 401, contentType: 'application/json', body: '{"message":"expired"}' });
  });
  await page.goto(server.url('/projects/many/files'));
  await page.getByRole('row', { name: /file-4/ }).waitFor();
  t.equal(asked, 2);
});
