/** The disk fills up under a server: what it acknowledged stays, nothing else is there, and it goes on when there is room. */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { mountSmallDisk } from '../services/small-disk.ts';
import { startSluice } from '../services/start-sluice.ts';

const structure = structureOf('demo', 'notes', fieldsOf('text TEXT'));
/** Nothing makes it smaller. */
const randomText = (bytes: number): string => randomBytes(bytes / 2).toString('hex');

t.test('a full disk is 507, and nothing is half there', { timeout: 120_000 }, async (t) => {
  const disk = mountSmallDisk(t, 64);
  if (disk === null) {
    t.comment('skipped: it needs a file system of its own, which this user may not mount');
    return;
  }
  const sluice = await startSluice({ dataDir: join(disk.folder, 'data') });
  t.teardown(() => sluice.kill());
  const headers = { authorization: `Bearer ${sluice.token}` };
  const [texts, files] = [new Set<string>(), new Set<string>()];
  const insert = async (records: readonly { text: string }[]) => {
    const { status, body } = await call({ ...sluice, path: '/demo/notes', structure, body: records });
    if (status === 200) for (const { text } of records) texts.add(text);
    return `${status} ${body.code}`;
  };
  const upload = async (bytes: number) => {
    const form = new FormData();
    form.set('file', new Blob([randomBytes(bytes)]), 'a.bin');
    const answer = await fetch(`${sluice.baseUrl}/_f_/demo/upload`, { method: 'POST', headers, body: form });
    const body = (await answer.json()) as { name: string; code?: string };
    if (answer.status === 200) files.add(body.name);
    return `${answer.status} ${body.code}`;
  };
  const records = (count: number, bytes: number) =>
    Array.from({ length: count }, () => ({ text: randomText(bytes) }));
  const readyz = async () => {
    const answer = await fetch(`${sluice.baseUrl}/readyz`);
    return { status: answer.status, body: (await answer.json()) as { message: string } };
  };
  t.equal(await insert(records(3, 100)), '200 undefined');
  t.equal(await upload(100), '200 undefined');

  disk.fill(400_000);
  // through the log, as a statement of its own, as one part, as several
  const kinds = {
    small: () => insert(records(1, 20_000)),
    several: () => insert(records(100, 1000)),
    large: () => insert(records(300, 1000)),
    file: () => upload(30_000),
    'large file': () => upload(3_000_000),
  };
  const full = new Set<string>();
  for (let round = 0; round < 100 && full.size < Object.keys(kinds).length; round++) {
    await Promise.all(
      Object.entries(kinds).map(async ([name, send]) => {
        const answer = await send();
        if (answer === '507 storage_full') full.add(name);
        else if (answer !== '200 undefined') t.fail(`${name}: ${answer}`);
      }),
    );
  }
  t.strictSame([...full].sort(), Object.keys(kinds).sort(), 'each of them was refused');
  t.match(await readyz(), { status: 503, body: { message: /the database has no room: its disk is full/ } });

  disk.empty();
  while ((await readyz()).status !== 200) await sleep(50);
  t.equal(await insert(records(1, 100)), '200 undefined', 'it goes on');
  t.equal(await upload(3_000_000), '200 undefined');
  const found = await call({
    ...sluice,
    path: '/demo/notes',
    structure,
    headers: { options: '{"pagination":{"limit":10000}}' },
  });
  t.strictSame(found.body.map(({ text }: { text: string }) => text).sort(), [...texts].sort());
  const list = await fetch(`${sluice.baseUrl}/_f_/demo?limit=100`, { headers });
  const listed = ((await list.json()) as { files: { name: string }[] }).files.map(({ name }) => name);
  t.strictSame(listed.sort(), [...files].sort());
  const below = (folder: string): string[] =>
    readdirSync(join(disk.folder, 'data/files', folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  t.strictSame(below('objects').sort(), [...files].sort(), 'no object that nobody was told of');
  t.equal(below('meta').length, files.size);
  t.strictSame(below('tmp'), []);
  t.equal(await sluice.stop(), 0);
});
