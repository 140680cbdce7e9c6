import type { Page } from 'playwright-core';
import { type ConsoleBrowser, makeToken } from './console-browser.ts';
import { call, type FieldInput, structureOf } from './record-client.ts';
import { samplePng, sampleWav } from './sample-media.ts';

/** What an account has that is in use: tokens, files of several kinds, records. For somebody who is logged in on the page. */
export async function fillConsole(server: ConsoleBrowser, page: Page): Promise<void> {
  const token = await makeToken(server, page, 'backup script');
  await makeToken(server, page, 'old phone');
  await page.getByRole('button', { name: 'Revoke old phone' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke the token' }).click();
  await page.getByText('revoked', { exact: true }).waitFor();
  const files = [
    new File([samplePng(200)], 'harbour.png', { type: 'image/png' }),
    new File([samplePng(20)], 'sunset.png', { type: 'image/png' }),
    new File([samplePng(110)], 'meadow.png', { type: 'image/png' }),
    new File([sampleWav()], 'seagulls.wav', { type: 'audio/wav' }),
    new File(['day,place,cost\n1,Lisbon,84\n2,Sintra,52\n'], 'costs.csv', { type: 'text/csv' }),
    new File(['# Packing list\n\n- hat\n- book\n'], 'packing.md', { type: 'text/markdown' }),
    new File([Buffer.alloc(2_400_000)], 'tickets.pdf', { type: 'application/pdf' }),
  ];
  for (const file of files) await upload(server, token, { project: 'holiday', file });
  await makeRecords(server, token);
  for (const [space, fields, count] of otherSpaces) {
    const { baseUrl } = server.sluice;
    const structure = structureOf('holiday', space, fields, { description: '' });
    const body = Array.from({ length: count }, (_, n) => ({
      [fields[0]?.name ?? '']: `${space} ${n}`,
      ...(space === 'bookings' ? { room: rooms[((n * n) % 11) % 3], nights: 1 + ((n * n) % 7) } : {}),
    }));
    await call({ baseUrl, token, path: `/holiday/${space}`, structure, body });
  }
  await upload(server, token, {
    project: 'newsletter',
    file: new File(['<h1>Hello</h1>'], 'issue-1.html', { type: 'text/html' }),
  });
}

const text = (name: string): FieldInput => ({ name, type: 'TEXT' });
const rooms = ['Garden', 'Harbour', 'Tower'];
const otherSpaces: readonly (readonly [string, readonly FieldInput[], number])[] = [
  ['bookings', [text('guest'), text('room'), { name: 'nights', type: 'NUMBER' }], 1240],
  ['guests', [text('name'), text('email')], 312],
  ['reviews', [text('title'), text('body'), { name: 'stars', type: 'NUMBER' }, text('guest')], 5875],
];

/** A record space with as many records as a screen has room for, by the API. */
async function makeRecords({ sluice }: ConsoleBrowser, token: string): Promise<void> {
  const structure = structureOf(
    'holiday',
    'places',
    [
      { name: 'name', type: 'TEXT', required: true },
      { name: 'country', type: 'TEXT' },
      { name: 'nights', type: 'NUMBER' },
      { name: 'visited', type: 'BOOLEAN' },
      { name: 'notes', type: 'OBJECT' },
    ],
    { name: 'Places', description: 'where we go' },
  );
  const towns = 'Lisbon,Sintra,Porto,Évora,Faro,Coimbra,Braga,Tavira,Lagos,Aveiro'.split(',');
  const records = towns.map((name, index) => ({
    name,
    country: 'Portugal',
    nights: (index % 4) + 1,
    visited: index < 4,
    notes: { museum: index % 2 === 0, beach: index % 3 === 0 },
  }));
  const { baseUrl } = sluice;
  const { status, body } = await call({ baseUrl, token, path: '/holiday/places', structure, body: records });
  if (status !== 200) throw new Error(`the insert was answered with ${status}: ${JSON.stringify(body)}`);
}

export async function upload(
  { sluice }: Pick<ConsoleBrowser, 'sluice'>,
  token: string,
  { project, file }: { readonly project: string; readonly file: File },
): Promise<void> {
  const body = new FormData();
  body.append('file', file);
  const response = await fetch(`${sluice.baseUrl}/_f_/${project}/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body,
  });
  if (!response.ok)
    throw new Error(`the upload was answered with ${response.status}: ${await response.text()}`);
}
