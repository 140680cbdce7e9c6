/** Who gets the live queries of a publishable token: every user, and every address of strangers, has a share. */
import t, { type Test } from 'tap';
import { LiveClient } from '../services/live-client.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { until } from '../services/worker-pids.ts';

const most = 6;
const sluice = await sluiceFor(t, { env: { LIVE_MAX_TOKEN_STREAMS: `${most}` } });
const structures = {
  users: structureOf('app', 'users', fieldsOf('name TEXT required unique, password TEXT hashed')),
  notes: structureOf('app', 'notes', fieldsOf('text TEXT')),
};

async function send(path: string, more: Partial<Parameters<typeof call>[0]> = {}) {
  const answer = await call({ ...sluice, path, ...more });
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

await send('/app/users', {
  structure: structures.users,
  body: ['ann', 'ben'].map((name) => ({ name, password: name })),
});
await send('/app/notes', { structure: structures.notes, body: [{ text: 'first' }] });
for (const space of ['users', 'notes'])
  await send(`/_projects_/app/spaces/${space}/rules`, { method: 'PUT', body: { find: true } });
const { stdout } = await runToEnd('cli/token.ts', ['--publishable', '--origin', '*'], {
  DATA_DIR: sluice.dataDir,
});
const authorization = `Bearer ${stdout.trim()}`;

async function logIn(name: string): Promise<string> {
  const resources = { mustExistSpaceStructures: [JSON.parse(structures.users)] };
  const { token } = await send('/app/function/login', {
    body: { name, password: name },
    headers: { 'function-resources': JSON.stringify(resources) },
  });
  return token;
}

/** A live query that is ready, or was refused. @param from who listens: a login token, or an address of this machine */
async function watch(
  t: Pick<Test, 'teardown'>,
  from: { readonly token: string } | { readonly localAddress: string },
): Promise<LiveClient> {
  const { token, localAddress } = { token: undefined, localAddress: undefined, ...from };
  const client = new LiveClient({
    path: '/app/notes',
    headers: { authorization, ...(token !== undefined && { token }) },
    ...(localAddress !== undefined && { localAddress }),
  });
  t.teardown(() => client.cut());
  if ((await client.open(sluice.baseUrl)) === 200) await client.ready();
  else await client.ended();
  return client;
}

async function openStreams(): Promise<number> {
  const text = await (await fetch(`${sluice.baseUrl}/metrics`)).text();
  return Number(/^sluice_live_streams(?:{.*})? (\S+)$/m.exec(text)?.[1]);
}

t.test('a stranger takes all live queries of a publishable token, and others get theirs', async (t) => {
  const stranger = { localAddress: '127.0.0.2' };
  const taken: LiveClient[] = [];
  for (let at = 0; at < most; at++) taken.push(await watch(t, stranger));
  const refused = await watch(t, stranger);
  t.match([refused.status, JSON.parse(refused.text)], [429, { code: 'too_many_streams' }]);
  const user = { token: await logIn('ann') };
  const anns = await watch(t, user);
  t.equal(anns.status, 200, 'a user who has logged in');
  await taken[0]?.ended();
  t.match(taken[0]?.text, /retry: \d+\n: too_many_streams\n:\n$/, 'the oldest one of the stranger ends');
  t.equal((await watch(t, { localAddress: '127.0.0.3' })).status, 200, 'a stranger at another address');
  t.equal((await watch(t, { token: await logIn('ben') })).status, 200, 'another user');
  // the first stranger has three by now, and the others one each
  const second = await watch(t, user);
  t.equal(second.status, 200);
  t.equal((await watch(t, user)).status, 429, 'two have two each: nobody has two more than she');
  t.equal(await openStreams(), most);
  t.ok(anns.isOpen && second.isOpen, 'nobody with few lost one');
  t.equal(taken.filter(({ isOpen }) => isOpen).length, 2);
  const { length: before } = anns.events;
  await send('/app/notes', { structure: structures.notes, body: [{ text: 'second' }] });
  await anns.until(() => anns.records.size === 2);
  t.strictSame(anns.types(before), ['enter']);
});

t.test('the places of those who have gone are free', async (t) => {
  await until(async () => (await openStreams()) === 0);
  for (let at = 0; at < most; at++) t.equal((await watch(t, { localAddress: '127.0.0.2' })).status, 200);
});
