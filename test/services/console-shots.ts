import type { Page } from 'playwright-core';

/** A page of the console, as `npm run screenshots` and the checks of accessibility see it. */
export interface Shot {
  readonly name: string;
  readonly path: string;
  /** Brings the page to what is to be seen. */
  readonly prepare?: (page: Page) => Promise<void>;
}

export const outsideShots: readonly Shot[] = [
  { name: 'register', path: '/register' },
  { name: 'login', path: '/login' },
];

/** With what fillConsole makes. */
export const consoleShots: readonly Shot[] = [
  { name: 'projects', path: '/projects' },
  { name: 'spaces', path: '/projects/holiday' },
  {
    name: 'records',
    path: '/projects/holiday/spaces/places',
    prepare: (page) => page.getByText('Lisbon').first().waitFor(),
  },
  { name: 'structure', path: '/projects/holiday/spaces/places/structure' },
  { name: 'files', path: '/projects/holiday/files' },
  {
    name: 'file',
    path: '/projects/holiday/files',
    prepare: (page) => page.getByRole('button', { name: 'harbour.png', exact: true }).click(),
  },
  { name: 'files-empty', path: '/projects/nothing-yet/files' },
  { name: 'tokens', path: '/tokens' },
  {
    name: 'token',
    path: '/tokens',
    async prepare(page) {
      await page.getByRole('button', { name: 'New token' }).click();
      await page.getByLabel('Name').fill('phone app');
      await page.getByRole('button', { name: 'Create the token' }).click();
      await page.getByRole('dialog', { name: 'Copy the token now' }).waitFor();
    },
  },
  { name: 'usage', path: '/usage' },
  { name: 'account', path: '/account' },
];
