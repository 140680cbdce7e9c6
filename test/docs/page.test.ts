/** /docs in a real browser (CHROMIUM, or /usr/bin/chromium), light and dark: nothing breaks its policy, and a call can be tried. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';

t.test('the page shows the operations, and tries one', async (t) => {
  const sluice = await sluiceFor(t);
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const shots = await mkdtemp(join(tmpdir(), 'sluice-docs-'));
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme });
    const problems: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
    page.on('pageerror', (error) => void problems.push(String(error)));
    page.on('request', (request) => {
      const own = request.url().startsWith(sluice.baseUrl) || request.url().startsWith('data:');
      if (!own) problems.push(`asks ${request.url()}`);
    });
    await page.goto(`${sluice.baseUrl}/docs`);
    const liveness = page.locator('#operations-Health-checkLiveness');
    await liveness.locator('.opblock-summary-control').click();
    await liveness.getByRole('button', { name: 'Try it out' }).click();
    await liveness.getByRole('button', { name: 'Execute' }).click();
    // its text is coloured a little later
    const answer = /200[\s\S]*"status": "ok"/;
    await liveness.locator('.live-responses-table').filter({ hasText: answer }).waitFor();
    t.strictSame(problems, []);
    await page.screenshot({ path: join(shots, `${colorScheme}.png`) });
    await page.close();
  }
  t.comment(`screenshots: ${shots}`);
  t.equal(await sluice.stop(), 0);
});
