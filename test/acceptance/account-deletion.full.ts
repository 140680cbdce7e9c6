/** An account is deleted with everything in it, through kill -9, and no other account is touched. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openChdb } from '#engine/open-chdb.ts';
import { DashboardUser, rowsWith, structure, tracesOf, useAccount } from '../services/account-in-use.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

const env = { REGISTRATION: 'open', JANITOR_GRACE_MS: '2000' };
const parts = ['account', 'files', 'records', 'webhooks'];

/** Files below a folder that hold one of the texts, in their name or in their bytes. */
async function filesWith(folder: string, texts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // the engine frees the bytes of deleted rows when it merges their parts
    if (path.startsWith(join(folder, 'chdb'))) continue;
    const bytes = entry.isFile() ? await readFile(path, 'latin1') : '';
    if (texts.some((text) => bytes.includes(text))) found.push(path);
    if (entry.isFile() && texts.some((text) => path.includes(text))) found.push(path);
  }
  return found;
}

t.test('an account is deleted with everything in it, over two kills', { timeout: 240_000 }, async (t) => {
  let server = await startSluice({ env });
  const [ada, ben] = [new DashboardUser('ada@example.com'), new DashboardUser('ben@example.com')];
  const all = { console: server, gateway: server, query: server };
  for (const user of [ada, ben]) await user.register(server);
  const { token, link } = await useAccount(all, ada);
  const other = await useAccount(all, ben);
  // each is a member of the other's account
  const invited = (await ada.send(server, '/invitations', { email: ben.email, manages: true })).body;
  t.equal((await ben.send(server, '/invitation/accept', { token: invited.token })).status, 200);
  const madeByBen = await ben.newToken(server, 'made by a member');
  const back = (await ada.send(server, '/invitations', { email: 'new@example.com' })).body;
  const find = async (at: string): Promise<number> =>
    (await call({ ...server, token: at, path: '/diary/pages', structure })).status;
  t.equal(await find(token), 200);

  t.equal((await ada.send(server, '/account/delete', { email: ada.email, password: 'wrong' })).status, 403);
  t.equal(
    (await ada.send(server, '/account/delete', { email: ben.email, password: ada.password })).status,
    400,
  );
  t.equal(await find(token), 200);
  // requests go on while it is deleted
  let busy = true;
  const statuses = new Set<number>();
  const load = (async () => {
    for (let n = 2000; busy; n++) {
      const put = {
        method: 'PUT',
        body: `a secret of ${ada.email}`,
        headers: { authorization: `Bearer ${token}` },
      };
      const [file, insert] = await Promise.all([
        fetch(`${server.baseUrl}/_f_/diary/racing.txt`, put).catch(() => null),
        call({
          ...server,
          token,
          path: '/diary/pages',
          structure,
          body: [{ text: `a secret of ${ada.email}`, n }],
        }).catch(() => null),
      ]);
      for (const answer of [file, insert]) if (answer !== null) statuses.add(answer.status);
    }
  })();
  t.equal((await ada.deleteAccount(server)).status, 204);
  for (const refused of [token, madeByBen]) t.equal(await find(refused), 401, 'refused at once');
  t.equal(
    (await fetch(link.replace(/^https?:\/\/[^/]+/, server.baseUrl), { method: 'PUT', body: 'x' })).status,
    403,
  );
  t.equal((await ada.send(server, '/session')).body.account, null);
  t.equal((await ada.logIn(server)).status, 401);
  t.match((await ben.send(server, '/session')).body, { account: { email: ben.email }, acting: null });
  await server.kill();
  busy = false;
  await load;
  t.strictSame(
    [...statuses].filter((status) => ![200, 401].includes(status)),
    [],
    'never a 5xx',
  );

  server = await server.restart();
  t.equal(await find(token), 401, 'and after a restart');
  await server.kill();
  server = await server.restart();
  // the address is free, and its next account begins empty
  await eventuallyEqual(t, async () => (await ada.register(server)).status, 201, 'the address is free');
  const [id, next] = [tracesOf(ada)[0] as string, await ada.newToken(server)];
  const projects = await call({ ...server, token: next, path: '/_projects_' });
  t.strictSame(projects.body.projects, []);
  t.equal((await call({ ...server, token: next, path: '/diary/pages', structure })).body.length, 0);
  t.equal((await ada.send(server, '/invitation', { token: back.token })).status, 403);
  const done = () =>
    parts.filter((part) =>
      new RegExp(`"part":"${part}".*is removed`).test(server.stdout() + server.stderr()),
    );
  await eventuallyEqual(t, done, parts, 'every part is done');
  t.equal((await call({ ...server, token: other.token, path: '/diary/pages', structure })).body.length, 51);
  await server.stop();

  const db = openChdb({ path: join(server.dataDir, 'chdb') });
  const rows = (sql: string) => db.rows<Record<string, unknown>>({ sql });
  const deleted = (await rows('SELECT DISTINCT id FROM sluice.closed_accounts WHERE deletes')) as {
    id: string;
  }[];
  t.equal(deleted.length, 1);
  t.not(deleted[0]?.id, id, 'the next account has another id');
  const traces = tracesOf({ ...ada, id: deleted[0]?.id ?? '' } as DashboardUser).filter(
    (text) => text !== ada.email,
  );
  t.strictSame(await rowsWith(rows, 'sluice', traces), {});
  t.strictSame(await filesWith(server.dataDir, traces), []);
  t.ok(
    Object.keys(await rowsWith(rows, 'sluice', tracesOf(ben))).length > 8,
    'everything of the other account stays',
  );
  await db.close();
  await removeData(server);
});
