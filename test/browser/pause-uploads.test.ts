/** Large uploads that are paused, that a reload ends, that break off, and that are dropped. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeToken, openConsole, register, throttle } from '../services/console-browser.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';

const server = await openConsole();
t.teardown(() => server.close());
const { page } = await server.open();
await register(server, page);
const authorization = `Bearer ${await makeToken(server, page, 'test')}`;
const folder = await mkdtemp(join(tmpdir(), 'sluice-pause-'));
t.teardown(() => rm(folder, { recursive: true }));
// a reload asks whether uploads may end
page.on('dialog', (dialog) => void dialog.accept());
const { slowDown } = await throttle(page);

const input = page.locator('input[type=file]').first();
const button = (name: string) => page.getByRole('button', { name, exact: true });
const bar = (name: string) => page.getByRole('progressbar', { name });

/** Method and offset of what is asked about uploads that go on. */
const asked: string[] = [];
page.on('request', (request) => {
  const offset = request.headers()['upload-offset'];
  if (request.url().includes('/resumable'))
    asked.push(request.method() + (offset === undefined ? '' : ` ${offset}`));
});

async function onPage(project: string): Promise<void> {
  await slowDown(-1);
  await page.goto(server.url(`/projects/${project}/files`));
  await page.getByRole('heading', { name: 'No files yet' }).waitFor();
  asked.length = 0;
}

async function newFile(name: string, size = 12_000_000): Promise<{ path: string; bytes: Buffer }> {
  const path = join(folder, name);
  const bytes = randomBytes(size);
  await writeFile(path, bytes);
  return { path, bytes };
}

/** Chooses a file, and waits until some of it is at the server. */
async function sendSome(t: Test, path: string, name: string): Promise<void> {
  await slowDown(4_000_000);
  await input.setInputFiles(path);
  await eventuallyEqual(t, async () => Number(await bar(name).getAttribute('value')) > 2_000_000, true);
}

async function storedBytes(project: string): Promise<Buffer[]> {
  const { baseUrl } = server.sluice;
  const list = await fetch(`${baseUrl}/_f_/${project}`, { headers: { authorization } });
  const { files } = (await list.json()) as { files: { name: string }[] };
  const found = files.map(async ({ name }) => {
    const answer = await fetch(`${baseUrl}/_f_/${project}/${name}`, { headers: { authorization } });
    return Buffer.from(await answer.arrayBuffer());
  });
  return Promise.all(found);
}

/** The offset at which the last request went on. */
const lastOffset = (): number => Number(/^PATCH (\d+)$/.exec(asked.at(-1) ?? '')?.[1]);

t.test('a paused one goes on where it was', async (t) => {
  await onPage('pause');
  const { path, bytes } = await newFile('film.mp4');
  await sendSome(t, path, 'film.mp4');
  await button('Pause the upload of film.mp4').click();
  await page.getByText(/^\d.* of 12 MB · paused$/).waitFor();
  await slowDown(-1);
  t.strictSame(asked, ['POST', 'PATCH 0']);
  await button('Resume the upload of film.mp4').click();
  await page.getByText('1 file uploaded to pause.').waitFor();
  t.strictSame(asked.slice(2), ['HEAD', `PATCH ${lastOffset()}`]);
  t.ok(lastOffset() > 0 && lastOffset() < bytes.byteLength, `from ${lastOffset()}`);
  t.ok((await storedBytes('pause'))[0]?.equals(bytes));
});

t.test('one that a reload ended goes on when its file is chosen again', async (t) => {
  await onPage('reload');
  const { path, bytes } = await newFile('holiday.mov');
  await sendSome(t, path, 'holiday.mov');
  await page.reload();
  await page.getByText('12 MB · unfinished: choose the file again to resume').waitFor();
  await slowDown(-1);
  asked.length = 0;
  await input.setInputFiles(path);
  await page.getByText('1 file uploaded to reload.').waitFor();
  t.strictSame(asked, ['HEAD', `PATCH ${lastOffset()}`]);
  t.ok(lastOffset() > 0 && lastOffset() < bytes.byteLength, `from ${lastOffset()}`);
  t.ok((await storedBytes('reload'))[0]?.equals(bytes));
  t.equal(await page.getByText('unfinished:').count(), 0);
  await page.reload();
  await page.getByRole('row', { name: /holiday\.mov/ }).waitFor();
  t.equal(await page.getByText('unfinished:').count(), 0, 'nor after one more');
});

t.test('of several at once one is paused, and the others go on', async (t) => {
  await onPage('several');
  const files = await Promise.all(['a.bin', 'b.bin', 'c.bin', 'd.bin'].map((name) => newFile(name)));
  await slowDown(8_000_000);
  await input.setInputFiles(files.map(({ path }) => path));
  await eventuallyEqual(t, async () => Number(await bar('b.bin').getAttribute('value')) > 1_000_000, true);
  await button('Pause the upload of b.bin').click();
  await page.getByText('· paused').waitFor();
  await slowDown(-1);
  await page.getByText('3 files uploaded to several.').waitFor();
  await page.getByRole('heading', { name: 'Paused: 3 of 4' }).waitFor();
  await button('Resume the upload of b.bin').click();
  await page.getByText('4 files uploaded to several.').waitFor();
  const stored = await storedBytes('several');
  t.equal(stored.length, 4);
  for (const { bytes } of files) t.ok(stored.some((found) => found.equals(bytes)));
});

t.test('one that is cancelled or discarded leaves nothing', async (t) => {
  await onPage('dropped');
  const { path } = await newFile('dropped.mp4');
  await sendSome(t, path, 'dropped.mp4');
  await button('Pause the upload of dropped.mp4').click();
  const dropped = () =>
    page.waitForResponse((answer) => answer.request().method() === 'DELETE' && answer.status() === 204);
  const cancelled = dropped();
  await button('Cancel the upload of dropped.mp4').click();
  await cancelled;
  await page.getByText('Cancelled', { exact: true }).waitFor();
  asked.length = 0;
  await button('Retry the upload of dropped.mp4').click();
  await eventuallyEqual(t, () => asked.length, 2);
  t.strictSame(asked, ['POST', 'PATCH 0'], 'another try begins at zero');
  await page.reload();
  const discarded = dropped();
  await button('Discard the upload of dropped.mp4').click();
  await discarded;
  await eventuallyEqual(t, () => page.getByText('unfinished:').count(), 0);
});

t.test('one that the server does not know any more begins again', async (t) => {
  await onPage('expired');
  const { path, bytes } = await newFile('expired.mp4');
  const begun = page.waitForResponse(
    (answer) => answer.request().method() === 'POST' && answer.status() === 201,
  );
  await sendSome(t, path, 'expired.mp4');
  await button('Pause the upload of expired.mp4').click();
  const address = (await begun).headers().location ?? '';
  const headers = { authorization, 'tus-resumable': '1.0.0' };
  const removed = await fetch(server.sluice.baseUrl + address, { method: 'DELETE', headers });
  t.equal(removed.status, 204);
  await slowDown(-1);
  await button('Resume the upload of expired.mp4').click();
  await page.getByText('1 file uploaded to expired.').waitFor();
  t.strictSame(asked, ['POST', 'PATCH 0', 'HEAD', 'POST', 'PATCH 0']);
  t.ok((await storedBytes('expired'))[0]?.equals(bytes));
});

t.test('one whose connection breaks goes on by itself', async (t) => {
  await onPage('broken');
  const { path, bytes } = await newFile('broken.mp4');
  const patches = '**/resumable/**';
  await page.route(patches, (route) => route.abort('connectionreset'), { times: 1 });
  await input.setInputFiles(path);
  await page.getByText('1 file uploaded to broken.').waitFor();
  t.strictSame(asked, ['POST', 'PATCH 0', 'HEAD', 'PATCH 0']);
  t.ok((await storedBytes('broken'))[0]?.equals(bytes));
});

t.test('a file as large as a form may be has no pause, and one byte more goes on', async (t) => {
  await onPage('sizes');
  const form = 8 * 1024 * 1024;
  const [small, large] = [await newFile('small.bin', form), await newFile('large.bin', form + 1)];
  await input.setInputFiles([small.path, large.path]);
  await page.getByText('2 files uploaded to sizes.').waitFor();
  t.strictSame(asked, ['POST', 'PATCH 0']);
  const stored = await storedBytes('sizes');
  for (const { bytes } of [small, large]) t.ok(stored.some((found) => found.equals(bytes)));
});
