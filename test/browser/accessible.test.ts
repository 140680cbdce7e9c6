/** axe-core on every page, light and dark, wide and narrow: nothing serious, nothing critical. */
import t from 'tap';
import { openConsole, register } from '../services/console-browser.ts';
import { consoleShots, outsideShots } from '../services/console-shots.ts';
import { fillConsole } from '../services/fill-console.ts';
import { seriousFindings } from '../services/records-browser.ts';

const screens = {
  light: { colorScheme: 'light', viewport: { width: 1180, height: 760 } },
  dark: { colorScheme: 'dark', viewport: { width: 1180, height: 760 } },
  narrow: { colorScheme: 'dark', viewport: { width: 360, height: 720 } },
} as const;

const server = await openConsole();
t.teardown(() => server.close());

for (const [name, options] of Object.entries(screens)) {
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
  for (const [name, { colorScheme, viewport }] of Object.entries(screens)) {
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
