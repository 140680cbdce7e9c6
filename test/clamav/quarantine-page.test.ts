/** Files that a real clamd holds back, on the pages of the dashboard. */
import t from 'tap';
import { badText, startClamd } from '../services/clamd.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { openFiles } from '../services/files-browser.ts';

const clamd = await startClamd();
t.teardown(() => clamd.stop());
const { server, page, problems, send, usable } = await openFiles({
  CLAMD_ADDRESS: clamd.text,
  SCAN_MAX_BYTES: '100000',
});
t.teardown(() => server.close());

async function statusOf(name: string, body: string): Promise<number> {
  return (await send('held', { name, type: 'text/plain', body })).status;
}

t.test('what is found is in quarantine, and what waits is being checked', async (t) => {
  t.equal(await statusOf('harmless.txt', 'nothing'), 200);
  t.equal(await statusOf('invoice.txt', badText), 422);
  t.equal(await statusOf('report.txt', `${badText} twice`), 422);
  // more than the scanner takes
  t.equal(await statusOf('large.txt', 'x'.repeat(200_000)), 200);
  await page.goto(server.url('/projects/held/files'));
  await page.getByRole('row', { name: /harmless\.txt/ }).waitFor();
  t.equal(await page.getByRole('row').count(), 2, 'published files alone');
  await page.getByRole('link', { name: 'Quarantine 2' }).click();
  await page.getByRole('row', { name: /invoice\.txt text\/plain/ }).waitFor();
  await usable(t, 'quarantine');
  await page.getByRole('button', { name: 'Delete invoice.txt for good' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 file' }).click();
  await page.getByText('1 file deleted for good.').waitFor();
  await eventuallyEqual(t, () => page.getByRole('row').count(), 2);
  await page.getByRole('link', { name: 'Quarantine 1' }).waitFor();

  await page.getByRole('link', { name: 'Being checked' }).click();
  await page.getByRole('row', { name: /large\.txt/ }).waitFor();
  await usable(t, 'checking');
  t.strictSame(problems, []);
});
