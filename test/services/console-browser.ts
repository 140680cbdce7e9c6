import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { launchChromium } from './launch-chromium.ts';
import { removeData, type Sluice, type StartOptions, startSluice } from './start-sluice.ts';

/** Milliseconds for what a page is to show: much, for a machine that has other things to do. */
const patience = 90_000;

export const person = { name: 'Ada Lovelace', email: 'ada@example.com', password: 'correct horse battery' };

/** A server and a browser (CHROMIUM, or /usr/bin/chromium) beside it. */
export interface ConsoleBrowser {
  readonly sluice: Sluice;
  readonly browser: Browser;
  /** Address of a page of the console: `/tokens`. */
  url(path: string): string;
  /** A page in a context of its own: with nobody's cookies. */
  open(options?: BrowserContextOptions): Promise<WatchedPage>;
  close(): Promise<void>;
}

export interface WatchedPage {
  readonly page: Page;
  /** What a person would never see: errors in the console, such as breaches of the policy, and requests to elsewhere. */
  readonly problems: string[];
}

export async function openConsole(options: StartOptions = {}): Promise<ConsoleBrowser> {
  const sluice = await startSluice(options);
  const browser = await launchChromium({ timeout: patience });
  return {
    sluice,
    browser,
    url: (path) => `${sluice.baseUrl}/_console_${path}`,
    async open(contextOptions) {
      const context = await browser.newContext(contextOptions);
      context.setDefaultTimeout(patience);
      return watch(await context.newPage(), sluice.baseUrl);
    },
    async close() {
      await browser.close();
      await sluice.stop();
      await removeData(sluice);
    },
  };
}

function watch(page: Page, baseUrl: string): WatchedPage {
  const problems: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())));
  page.on('pageerror', (error) => void problems.push(String(error)));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${baseUrl}/`) && !/^(?:data|blob):/.test(url)) problems.push(`asks ${url}`);
  });
  return { page, problems };
}

/** On a page that asks for a login. */
export async function logIn(page: Page, password = person.password): Promise<void> {
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Makes the first account, and ends on the page of its projects. @param path of a page that leads to the form */
export async function register({ url }: ConsoleBrowser, page: Page, path = '/register'): Promise<void> {
  await page.goto(url(path));
  await page.getByRole('button', { name: 'Create a new account instead' }).click();
  await page.getByLabel('Name').fill(person.name);
  await page.getByLabel('Email').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}

/** Sets how much a page sends: bytes a second, -1 for no limit. `detach` ends it. */
export async function throttle(page: Page) {
  const network = await page.context().newCDPSession(page);
  const slowDown = (uploadThroughput: number) =>
    network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  return { slowDown, detach: () => network.detach() };
}

/** Closes a dialog by Escape, once it is open and has the focus: until then the key is the page's. */
export async function closeByEscape(dialog: Locator): Promise<void> {
  const page = dialog.page();
  await dialog.and(page.locator(':modal:focus-within')).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

/** Makes an access token in the console. @returns the token */
export async function makeToken({ url }: ConsoleBrowser, page: Page, name: string): Promise<string> {
  await page.goto(url('/tokens'));
  await page.getByRole('button', { name: 'New token' }).first().click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create the token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Copy the token now' });
  const token = (await dialog.locator('code').first().textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
  return token;
}
