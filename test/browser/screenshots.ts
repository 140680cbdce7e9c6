/** `npm run screenshots`: every page of the console, light, dark and 360 px wide, into docs/images. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, openConsole, person, register } from '../services/console-browser.ts';
import { consoleShots, outsideShots, type Shot } from '../services/console-shots.ts';
import { fillConsole } from '../services/fill-console.ts';
import { smallPng } from '../services/small-png.ts';

const target = join(import.meta.dirname, '../../docs/images');
const sizes = {
  light: { colorScheme: 'light', viewport: { width: 1040, height: 640 } },
  dark: { colorScheme: 'dark', viewport: { width: 1040, height: 640 } },
  narrow: { colorScheme: 'light', viewport: { width: 360, height: 640 } },
} as const;

async function shoot(server: ConsoleBrowser, shots: readonly Shot[], loggedIn: boolean): Promise<void> {
  for (const [kind, options] of Object.entries(sizes)) {
    const { page, problems } = await server.open({ ...options, reducedMotion: 'reduce' });
    if (loggedIn) await logIn(server, page);
    for (const { name, path, prepare } of shots) {
      await page.goto(server.url(path));
      await page.getByRole('heading', { level: 1 }).waitFor();
      await prepare?.(page);
      await page.waitForLoadState('networkidle');
      await writeFile(join(target, `${name}-${kind}.png`), smallPng(await page.screenshot()));
      console.log(`${name}-${kind}.png`);
    }
    if (problems.length > 0) console.log(problems);
    await page.context().close();
  }
}

async function logIn({ url }: ConsoleBrowser, page: Page): Promise<void> {
  await page.goto(url('/login'));
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}

await mkdir(target, { recursive: true });
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
