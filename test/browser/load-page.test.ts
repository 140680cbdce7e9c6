/** The page of `sluice load --page`, opened from a file, on each kind of screen. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { writePage } from '../../load/report/page.ts';
import { drawnRun } from '../services/drawn-run.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { seriousFindings } from '../services/records-browser.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const step = (rate: number, met: boolean) => ({
  rate,
  met,
  seconds: 10,
  why: 'p99',
  p99: rate / 40,
  errors: 0,
});
const run = drawnRun({
  seed: 1,
  seconds: 90,
  errors: 0.02,
  changes: {
    warnings: ['Requests started late.'],
    verified: { checked: 120, bytes: 4e6, wrong: ['The record orders/17 is lost.'] },
    capacity: {
      goal: 'p99 < 50 ms',
      rate: 1600,
      steps: [step(800, true), step(1600, true), step(3200, false)],
    },
  },
});
const folder = await temporaryFolder(t);
const file = join(folder, 'run.html');
await writeFile(file, writePage(run));
const browser = await launchChromium();
t.teardown(() => browser.close());

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light', viewport: { width: 1200, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1200, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 720 } },
} as const)) {
  t.test(`${name}: it asks for nothing, breaks no policy, and is within the screen`, async (t) => {
    const page = await browser.newPage(options);
    const problems: string[] = [];
    page.on('console', (message) => void problems.push(message.text()));
    page.on('request', (request) => void problems.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    t.strictSame(problems, [pathToFileURL(file).href]);
    t.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= options.viewport.width);
    const charts = page.locator('svg.plot');
    t.equal(await charts.count(), 6);
    for (const chart of await charts.all()) {
      const box = await chart.boundingBox();
      t.ok(box !== null && box.width > 200 && box.height > 150, JSON.stringify(box));
    }
    const [ground, ink] = (await page.evaluate(
      `[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('path.first')).stroke]`,
    )) as string[];
    t.equal(ground, name === 'dark' ? 'rgb(16, 21, 23)' : 'rgb(245, 247, 247)', 'its style applies');
    t.not(ink, 'none');
    t.strictSame(await seriousFindings(page), []);
    await page.close();
  });
}
