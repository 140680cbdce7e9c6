/** kill -9 while records with files come and go: no record loses its file, and no file outlives its last record. */
import t, { type Test } from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call, structureOf } from '../services/record-client.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

const structure = structureOf('app', 'posts', [
  { name: 'photo', type: 'FILE' },
  { name: 'album', type: 'FILE', many: true },
]);
const rounds = 4;
const writers = 4;

interface Post {
  readonly id: string;
  readonly photo: { readonly name: string } | null;
  readonly album: readonly { readonly name: string }[] | null;
}

function namesOf({ photo, album }: Post): string[] {
  return [...(photo === null ? [] : [photo]), ...(album ?? [])].map(({ name }) => name);
}

async function upload(sluice: Sluice): Promise<string> {
  const answer = await fetch(`${sluice.baseUrl}/_f_/app/a.png`, {
    method: 'PUT',
    body: 'x',
    headers: { authorization: `Bearer ${sluice.token}`, 'content-type': 'image/png' },
  });
  return ((await answer.json()) as { name: string }).name;
}

type Tail<All extends readonly unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never;

const sendTo = (sluice: Sluice, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') =>
  call({ ...sluice, path, method, structure, ...(body === undefined ? {} : { body }) });

/**
 * Writes until the connection breaks.
 * @param named receives names that a record had: only those have to go
 * @param done called after each request
 */
async function write(sluice: Sluice, named: Set<string>, done: () => void): Promise<void> {
  const send = async (...args: Tail<Parameters<typeof sendTo>>) => {
    const answer = await sendTo(sluice, ...args);
    done();
    return answer;
  };
  for (;;) {
    const [a, b, c] = [await upload(sluice), await upload(sluice), await upload(sluice)];
    const one = await send('/app/posts/_single_', { photo: a, album: [b] });
    for (const name of [a, b]) named.add(name);
    const two = await send('/app/posts/_single_', { photo: b });
    const { id } = one.body as Post;
    await send(`/app/posts/update-by-id?id=${id}`, { photo: c, album: [a] });
    named.add(c);
    await send(`/app/posts?id=${(two.body as Post).id}`, undefined, 'DELETE');
    await send(`/app/posts?id=${id}`, undefined, 'DELETE');
    await send('/app/posts', [{ photo: await upload(sluice) }, { album: [] }]);
  }
}

async function listed(sluice: Sluice): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (let from = ''; ; ) {
    const path = `/_f_/app?limit=200${from}`;
    const headers = { authorization: `Bearer ${sluice.token}` };
    const page = (await (await fetch(sluice.baseUrl + path, { headers })).json()) as {
      files: { name: string }[];
      next: string | null;
    };
    for (const { name } of page.files) names.add(name);
    if (!page.next) return names;
    from = `&after=${encodeURIComponent(page.next)}`;
  }
}

t.test('a killed process', async (t: Test) => {
  let sluice = await sluiceFor(t);
  const named = new Set<string>();
  await sendTo(sluice, '/app/posts/_single_', {});
  for (let round = 0; round < rounds; round++) {
    let left = 23 + 7 * round;
    let enough = (): void => {};
    const written = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const done = (): void => void (--left === 0 && enough());
    const writing = Array.from({ length: writers }, () => write(sluice, named, done).catch(() => {}));
    await written;
    await sluice.kill();
    await Promise.all(writing);
    sluice = await sluice.restart();
    const posts = (await sendTo(sluice, '/app/posts')).body as Post[];
    const used = new Set(posts.flatMap(namesOf));
    const before = await listed(sluice);
    t.strictSame(
      [...used].filter((name) => !before.has(name)),
      [],
      `round ${round}: no record without its file`,
    );
    const without = async () =>
      [...(await listed(sluice))].filter((name) => named.has(name) && !used.has(name));
    await eventuallyEqual(t, without, [], `round ${round}: no file without its record`);
    const after = await listed(sluice);
    t.strictSame(
      [...used].filter((name) => !after.has(name)),
      [],
      `round ${round}: what is named stays`,
    );
  }
  await sendTo(sluice, '/app/posts/clear-records', undefined, 'DELETE');
  await eventuallyEqual(t, async () => [...(await listed(sluice))].filter((name) => named.has(name)), []);
  t.ok(named.size > 20, `${named.size} files`);
});
