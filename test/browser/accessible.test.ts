/**
 * axe-core on every page, light and wide, dark and narrow: nothing serious, nothing critical. TEST_SIZE=full adds dark
 * and wide.
 */
import t from 'tap';
import { openConsole, register } from '../services/console-browser.ts';
import { consoleShots, outsideShots } from '../services/console-shots.ts';
import { fillConsole } from '../services/fill-console.ts';
import { seriousFindings } from '../services/records-browser.ts';
import { sized } from '../services/test-size.ts';

const all = {
  light: { colorScheme: 'light', viewport: { width: 1180, height: 760 } },
  narrow: { colorScheme: 'dark', viewport: { width: 360, height: 720 } },
  dark: { colorScheme: 'dark', viewport: { width: 1180, height: 760 } },
} as const;
const screens = Object.entries(all).slice(0, sized(3, 2));

const server = await openConsole();
t.teardown(() => server.close());

for (const [name, options] of screens) {
  t.test(`outside: ${name}`, async (t) => {
    const { page } = await server.open({ ...options, reducedMotion: 'reduce' });
    for (const shot of outsideShots) {
      await page.goto(server.url(shot.path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      t.strictSame(await seriousFindings(page), [], shot.name);
    }
    await page.context().close();
  });
}

t.test('inside', async (t) => {
  const { page } = await server.open({ reducedMotion: 'reduce' });
  await register(server, page);
  await fillConsole(server, page);
  for (const [name, { colorScheme, viewport }] of screens) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    for (const shot of consoleShots) {
      await page.goto(server.url(shot.path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await shot.prepare?.(page);
      await page.waitForLoadState('networkidle');
      t.strictSame(await seriousFindings(page), [], `${shot.name}: ${name}`);
    }
  }
});
