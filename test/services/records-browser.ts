import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import {
  type ConsoleBrowser,
  makeToken,
  openConsole,
  register,
  type WatchedPage,
} from './console-browser.ts';

export const project = 'demo';

/** A console in which somebody is logged in, and the API beside it with an access token of the same account. */
export interface RecordsBrowser extends WatchedPage {
  readonly server: ConsoleBrowser;
  readonly api: ApiClient;
  /** Opens a page below the project. */
  go(path: string): Promise<void>;
  readonly dialog: Locator;
  readonly grid: Locator;
  button(name: string): Locator;
  /** Asks for what a person would not see: errors of the page, breaches of its policy, requests to elsewhere. */
  noProblems(t: Test): void;
}

/** Calls the API as a program would. Throws unless the answer is a 2xx. */
export type ApiClient = <T>(
  method: string,
  path: string,
  call?: { readonly body?: unknown; readonly options?: unknown },
) => Promise<T>;

export async function openRecords(): Promise<RecordsBrowser> {
  const server = await openConsole();
  // colours on their way from one to another are none that axe-core should read
  const still = { reducedMotion: 'reduce' } as const;
  const { page, problems } = await server.open({ ...still, viewport: { width: 1280, height: 800 } });
  await register(server, page);
  const token = await makeToken(server, page, 'test');
  const api: ApiClient = async <T>(
    method: string,
    path: string,
    { body, options }: { body?: unknown; options?: unknown } = {},
  ) => {
    const response = await fetch(`${server.sluice.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        // what stores a structure does not go by the stored one
        ...(path.endsWith('/set-structure') ? {} : { 'use-pre-stored-structure': 'true' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options === undefined ? {} : { options: JSON.stringify(options) }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const go = async (path: string): Promise<void> => {
    await page.goto(server.url(`/projects/${project}${path}`));
  };
  return {
    server,
    page,
    problems,
    api,
    go,
    dialog: page.getByRole('dialog'),
    grid: page.getByRole('grid'),
    button: (name) => page.getByRole('button', { name, exact: true }),
    noProblems: (t) => void t.strictSame(problems.splice(0), [], 'nothing was refused or failed'),
  };
}

export interface FieldDefinition {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly hashed?: boolean;
  readonly description?: string;
}

/** Makes a space by the API. */
export async function makeSpace(
  api: ApiClient,
  space: string,
  fields: readonly FieldDefinition[],
): Promise<void> {
  const recordStructure = fields.map((field) => ({ slug: field.name.toLowerCase(), ...field }));
  const path = `/${project}/${encodeURIComponent(space)}/set-structure`;
  await api('POST', path, { body: { name: space, recordStructure } });
}

/** The text of a file that the open dialog exports. */
export async function exportedText(page: Page): Promise<string> {
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click();
  const chunks: Buffer[] = [];
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds that is serious or critical. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // not as a script of the page, which its policy would refuse
  await page.evaluate(await axeSource);
  return page.evaluate(async () => {
    interface Axe {
      run(
        options: object,
      ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
    }
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
  });
}
