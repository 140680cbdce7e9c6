/** Nothing jumps while a page loads: the cumulative layout shift of each page, its answers coming late. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openConsole, register } from '../services/console-browser.ts';
import { consoleShots, outsideShots } from '../services/console-shots.ts';
import { fillConsole } from '../services/fill-console.ts';

/** What Web Vitals call good; 0 is none. */
const allowed = 0.1;

const observe = `
  window.layoutShift = { sum: 0, sources: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      window.layoutShift.sum += entry.value;
      for (const { node } of entry.sources) window.layoutShift.sources.push(node?.outerHTML?.slice(0, 200) ?? 'gone');
    }
  }).observe({ type: 'layout-shift', buffered: true });
`;

interface LayoutShift {
  readonly sum: number;
  readonly sources: readonly string[];
}

const server = await openConsole();
t.teardown(() => server.close());

async function shiftOf(page: Page, path: string): Promise<LayoutShift> {
  await page.goto(server.url(path));
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  return (await page.evaluate('window.layoutShift')) as LayoutShift;
}

/** Each answer to the page's own requests comes when the page is shown already. */
async function answerLate(page: Page): Promise<void> {
  await page.route('**/*', async (route) => {
    if (route.request().resourceType() === 'fetch') await new Promise((resolve) => setTimeout(resolve, 400));
    await route.continue();
  });
}

t.test('a shift is seen', async (t) => {
  const { page } = await server.open();
  await page.addInitScript(observe);
  await page.goto(server.url('/'));
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(`
    const block = document.createElement('div');
    block.style.height = '400px';
    document.body.prepend(block);
    new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)))`);
  const { sum } = (await page.evaluate('window.layoutShift')) as LayoutShift;
  t.ok(sum > allowed, `${sum}`);
  await page.context().close();
});

t.test('pages', async (t) => {
  const { page } = await server.open();
  await page.addInitScript(observe);
  const check = async (shots: typeof consoleShots, width: number): Promise<void> => {
    await page.setViewportSize({ width, height: 760 });
    for (const shot of shots) {
      const { sum, sources } = await shiftOf(page, shot.path);
      t.ok(sum <= allowed, `${shot.name}, ${width} pixels: ${sum.toFixed(3)}`, { sources });
    }
  };
  for (const width of [1180, 360]) await check(outsideShots, width);
  await register(server, page);
  await fillConsole(server, page);
  await answerLate(page);
  for (const width of [1180, 360]) await check(consoleShots, width);
});
