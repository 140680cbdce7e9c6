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
  {
    name: 'filters',
    path: '/projects/holiday/spaces/places?where-icontains.name=a&where-between.nights=2..4&sort=nights&order=desc&sort=name&order=asc',
    async prepare(page) {
      await page.getByRole('button', { name: 'Sums and averages' }).click();
      await page.getByText(/sum \d/).waitFor();
    },
  },
  {
    name: 'summary',
    path: '/projects/holiday/spaces/bookings/summary?by=room&by=nights&value=count',
    prepare: (page) => page.locator('.chart svg').first().waitFor(),
  },
  { name: 'structure', path: '/projects/holiday/spaces/places/structure' },
  { name: 'rules', path: '/projects/holiday/spaces/places/rules' },
  { name: 'files', path: '/projects/holiday/files' },
  {
    name: 'file',
    path: '/projects/holiday/files',
    async prepare(page) {
      await page.getByRole('button', { name: 'harbour.png', exact: true }).click();
      await page.getByRole('dialog', { name: 'harbour.png' }).getByRole('img').waitFor();
    },
  },
  { name: 'grid', path: '/projects/holiday/files?view=grid' },
  { name: 'presets', path: '/projects/holiday/files/presets' },
  { name: 'trash', path: '/projects/holiday/files/trash' },
  {
    name: 'uploads',
    path: '/projects/holiday/files',
    async prepare(page) {
      // a request that is held would keep the network busy
      await page.waitForLoadState('networkidle');
      await holdUploads(page);
      const size = 24_000_000;
      await page
        .locator('input[type=file]')
        .first()
        .setInputFiles([
          { name: 'boat-trip.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(size) },
          { name: 'interview.wav', mimeType: 'audio/wav', buffer: Buffer.alloc(size / 2) },
        ]);
      // where they are comes with the answer to a HEAD
      for (const name of ['boat-trip.mp4', 'interview.wav']) {
        await page.getByRole('button', { name: `Pause the upload of ${name}` }).click();
        await page.getByRole('button', { name: `Resume the upload of ${name}` }).click();
      }
      await page.getByText('8.7 MB of 24 MB').waitFor();
      await page.getByText('8.7 MB of 12 MB').waitFor();
      await page.getByRole('button', { name: 'Pause the upload of boat-trip.mp4' }).click();
      await page.getByRole('button', { name: 'Resume the upload of boat-trip.mp4' }).waitFor();
    },
  },
  { name: 'files-empty', path: '/projects/nothing-yet/files' },
  { name: 'tokens', path: '/tokens' },
  {
    name: 'token',
    path: '/tokens',
    async prepare(page) {
      // each picture would make one more
      await page.route('**/_console_/api/tokens', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 201, json: sampleToken() })
          : route.continue(),
      );
      await page.getByRole('button', { name: 'New token' }).first().click();
      await page.getByLabel('Name').fill('phone app');
      await page.getByRole('button', { name: 'Create the token' }).click();
      await page.getByRole('dialog', { name: 'Copy the token now' }).waitFor();
    },
  },
  {
    name: 'webhooks',
    path: '/webhooks',
    async prepare(page) {
      // calls to elsewhere, one of which failed for a day
      await page.route('**/_webhooks_/deliveries?**', (route) => route.fulfill({ json: sampleDeliveries() }));
      await page.reload();
      await page.getByText('answered 503').waitFor();
    },
  },
  {
    name: 'usage',
    path: '/usage',
    async prepare(page) {
      // a month can't be waited for
      await page.route('**/_usage_?**', (route) => route.fulfill({ json: { days: sampleUsage() } }));
      await page.reload();
      await page.locator('.chart svg').first().waitFor();
    },
  },
  { name: 'members', path: '/members' },
  { name: 'account', path: '/account' },
];

/** Uploads of which the server has some bytes, and gets no more. */
async function holdUploads(page: Page): Promise<void> {
  let begun = 0;
  await page.route('**/resumable', (route) => {
    begun += 1;
    const expires = new Date(Date.now() + 86_400_000).toUTCString();
    const location = `/_f_/holiday/resumable/${begun}`;
    return route.fulfill({ status: 201, headers: { location, 'upload-expires': expires } });
  });
  await page.route('**/resumable/*', async (route) => {
    if (route.request().method() === 'HEAD')
      await route.fulfill({ status: 200, headers: { 'upload-offset': '8700000' } });
  });
}

function sampleToken(): object {
  const expiresAt = new Date(Date.now() + 90 * 86_400_000).toISOString();
  const dates = { createdAt: new Date().toISOString(), lastUsedAt: null, expiresAt, revokedAt: null };
  return { id: '1', name: 'phone app', token: `sluice_${'Example-'.repeat(6)}abc`, ...dates };
}

function sampleDeliveries(): readonly object[] {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const call = (id: number, minutes: number, more: object) => ({
    id: `${id}`,
    event: 'record.inserted',
    project: 'holiday',
    space: 'places',
    url: 'https://example.com/hook',
    recordIds: ['a'],
    state: 'delivered',
    attempts: 1,
    lastStatus: 204,
    lastProblem: null,
    nextAttemptAt: null,
    updatedAt: ago(minutes),
    createdAt: ago(minutes),
    ...more,
  });
  return [
    call(5, 2, { state: 'pending', attempts: 3, lastStatus: 503, nextAttemptAt: ago(-4) }),
    call(4, 31, { recordIds: ['a', 'b', 'c'] }),
    call(3, 55, { event: 'record.updated' }),
    call(2, 1600, {
      state: 'failed',
      attempts: 29,
      lastStatus: null,
      lastProblem: 'the connection was refused',
    }),
  ];
}

function sampleUsage(): readonly object[] {
  const projects = ['holiday', 'newsletter', 'shop', 'archive'];
  return Array.from({ length: 30 * projects.length }, (_, index) => {
    const day = Math.floor(index / projects.length);
    const place = index % projects.length;
    const much = Math.round((100 * (Math.sin((day * (place + 1)) / 4) + 1.3)) / (place + 1));
    return {
      date: new Date(Date.now() - day * 86_400_000).toISOString().slice(0, 10),
      project: projects[place],
      requests: much * 130,
      bytesIn: much * 1.4e6,
      files: much,
      bytesStored: much * 1.2e6,
      recordsWritten: much * (place === 1 ? 900 : 20),
    };
  });
}
