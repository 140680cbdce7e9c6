/**
 * `npm run screenshots`: pictures of the console and of a load test into docs/images, those that pages show.
 * `npm run screenshots -- FOLDER`: every page, light, dark and 360 px wide, into the folder.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writePage } from '../../load/report/page.ts';
import { type ConsoleBrowser, logIn, openConsole, register } from '../services/console-browser.ts';
import { consoleShots, outsideShots, type Shot } from '../services/console-shots.ts';
import { drawnRun } from '../services/drawn-run.ts';
import { fillConsole } from '../services/fill-console.ts';
import { launchChromium } from '../services/launch-chromium.ts';
import { shownPictures } from '../services/shown-pictures.ts';
import { smallPng } from '../services/small-png.ts';

const [folder] = process.argv.slice(2);
const target = folder === undefined ? join(import.meta.dirname, '../../docs/images') : resolve(folder);
const shown = shownPictures();
const sizes = {
  light: { colorScheme: 'light', viewport: { width: 1040, height: 640 } },
  dark: { colorScheme: 'dark', viewport: { width: 1040, height: 640 } },
  narrow: { colorScheme: 'light', viewport: { width: 360, height: 640 } },
} as const;

async function shoot(server: ConsoleBrowser, shots: readonly Shot[], loggedIn: boolean): Promise<void> {
  for (const [kind, options] of Object.entries(sizes)) {
    const { page, problems } = await server.open({ ...options, reducedMotion: 'reduce' });
    if (loggedIn) {
      await page.goto(server.url('/login'));
      await logIn(page);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    }
    for (const { name, path, prepare } of shots) {
      const file = `${name}-${kind}.png`;
      if (folder === undefined && !shown.has(file)) continue;
      await page.goto(server.url(path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await prepare?.(page);
      await page.waitForLoadState('networkidle');
      await writeFile(join(target, file), smallPng(await page.screenshot()));
      console.log(file);
    }
    if (problems.length > 0) console.log(problems);
    await page.context().close();
  }
}

/** The page of a load test, of a run whose figures are drawn from a seed: the same picture each time. */
async function shootLoad(): Promise<void> {
  const run = drawnRun({ seed: 3, seconds: 120, changes: { warnings: [], verified: null } });
  const browser = await launchChromium();
  try {
    for (const [kind, options] of Object.entries(sizes)) {
      const file = `load-${kind}.png`;
      if (folder === undefined && !shown.has(file)) continue;
      const viewport = { ...options.viewport, height: 900 };
      const page = await browser.newPage({ ...options, viewport, javaScriptEnabled: false });
      await page.setContent(writePage(run));
      await writeFile(join(target, file), smallPng(await page.screenshot()));
      console.log(file);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

await mkdir(target, { recursive: true });
await shootLoad();
const server = await openConsole();
try {
  await shoot(server, outsideShots, false);
  const { page } = await server.open();
  await register(server, page);
  await fillConsole(server, page);
  await shoot(server, consoleShots, true);
} finally {
  await server.close();
}
