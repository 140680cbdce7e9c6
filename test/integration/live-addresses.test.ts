/** Addresses of live queries hold the whole request: whoever opens one adds nothing to it. */
import t, { type Test } from 'tap';
import { identifyingHeaders } from '#query/live/live-request.ts';
import { LiveClient } from '../services/live-client.ts';
import { liveSpace } from '../services/live-spaces.ts';
import { call, fieldsOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const origin = 'https://app.example.com';
const spaceOf = (test: Pick<Test, 'teardown'>, slug: string) =>
  liveSpace(test, () => sluice, slug, fieldsOf('name TEXT, kind TEXT'));

/** A client that opens an address. */
async function opened(
  test: Pick<Test, 'teardown'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<LiveClient> {
  const client = new LiveClient({ path, headers });
  test.teardown(() => client.cut());
  if ((await client.open(sluice.baseUrl)) === 200) await client.ready();
  else await client.ended();
  return client;
}

t.test('who opens an address brings a header that it was not made with', async (t) => {
  const space = spaceOf(t, 'whole');
  await space.insert([
    { name: 'mine', kind: 'x' },
    { name: 'foreign', kind: 'y' },
  ]);
  const hostile: Readonly<Record<string, string>> = {
    authorization: 'Bearer none',
    structure: '{}',
    // either condition would be enough
    options: '{"paramRelationship":"Or"}',
    'clear-all-spaces': 'true',
    'sluice-act-as-user': 'true',
    'use-pre-stored-structure': 'true',
    'infer-structure': 'true',
  };
  for (const name of identifyingHeaders.filter((name) => name !== 'origin')) {
    const { address } = await space.send('/_live_', { name: 'mine', kind: { in: ['x', 'y'] } });
    const client = await opened(t, address, { [name]: hostile[name] ?? 'wrong' });
    t.equal(client.status, 200, name);
    t.strictSame(
      [...client.records.values()].map((record) => record.name),
      ['mine'],
      name,
    );
  }
});

t.test('a page of another origin opens an address of a publishable token', async (t) => {
  const space = spaceOf(t, 'pages');
  await space.insert([{ name: 'open' }]);
  const path = '/_projects_/live/spaces/pages/rules';
  t.match(await call({ ...sluice, method: 'PUT', path, body: { find: true } }), { status: 200 });
  const args = ['--publishable', '--origin', origin];
  const { stdout } = await runToEnd('cli/token.ts', args, { DATA_DIR: sluice.dataDir });
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json', origin };
  const made = await fetch(`${sluice.baseUrl}${space.path}/_live_`, { method: 'POST', headers, body: '{}' });
  const { address } = (await made.json()) as { address: string };
  t.equal((await opened(t, address, { origin })).records.size, 1, 'a page of its own');
  t.equal((await opened(t, address)).records.size, 1, 'a browser says no origin to its own host');
  const foreign = await opened(t, address, { origin: 'https://evil.example.com' });
  t.equal(foreign.status, 403);
  t.match(JSON.parse(foreign.text), { code: 'not_granted' });
});
