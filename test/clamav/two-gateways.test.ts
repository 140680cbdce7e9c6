/** A scanner between two gateways on one bucket: what one of them checks, the other shows to nobody but its uploader. */
import t from 'tap';
import { badText, startClamd } from '../services/clamd.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { runToEnd, type Sluice } from '../services/start-sluice.ts';
import { twoGateways } from '../services/two-gateways.ts';

const clamd = await startClamd();
t.teardown(() => clamd.stop());
const largest = 1000;
const { one, two, env } = await twoGateways(t, {
  CLAMD_ADDRESS: clamd.text,
  SCAN_MAX_BYTES: `${largest}`,
});

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

async function ask(
  { baseUrl, token }: Sluice,
  path: string,
  { headers, ...sent }: Sent = {},
  authorization: Record<string, string> = { authorization: `Bearer ${token}` },
) {
  const answer = await fetch(baseUrl + path, { ...sent, headers: { ...authorization, ...headers } });
  const text = await answer.text();
  return { status: answer.status, text, json: () => JSON.parse(text) };
}
const asStranger = (sluice: Sluice, path: string) => ask(sluice, path, {}, {});

/** Sends a file to the bucket, so that it is stored before it is checked. @returns its name, and what completes it */
async function planned(body: string) {
  const plan = (
    await ask(one, '/_f_/demo/direct', {
      method: 'POST',
      body: JSON.stringify({ name: 'a.txt', size: body.length }),
      headers: { 'content-type': 'application/json' },
    })
  ).json();
  const [part] = plan.parts;
  await fetch(part.url, { method: part.method, headers: part.headers, body });
  const complete = () => ask(one, `${plan.location}/complete`, { method: 'POST' });
  return { name: plan.id as string, complete };
}

async function names(sluice: Sluice, hidden: string): Promise<readonly string[]> {
  const { files = [] } = (await ask(sluice, `/_f_/demo?hidden=${hidden}`)).json();
  return files.map(({ name }: { name: string }) => name);
}

t.test('a file that one gateway checks is shown by the other once the verdict is there', async (t) => {
  t.teardown(() => clamd.resume());
  const { name, complete } = await planned('harmless');
  const path = `/_f_/demo/${name}`;
  clamd.pause();
  const completed = complete();
  await eventuallyEqual(t, async () => (await names(two, 'checking')).includes(name), true);
  for (const sluice of [one, two]) {
    t.equal((await asStranger(sluice, path)).status, 404);
    t.match(await ask(sluice, path), { status: 200, text: 'harmless' }, 'its uploader sees it');
  }
  clamd.resume();
  t.match(await completed, { status: 200 });
  for (const sluice of [one, two])
    await eventuallyEqual(t, async () => (await asStranger(sluice, path)).status, 200);
  t.strictSame(await names(two, 'checking'), []);
});

t.test('a file in which something is found is shown by neither', async (t) => {
  t.teardown(() => clamd.resume());
  const { name, complete } = await planned(badText);
  const path = `/_f_/demo/${name}`;
  clamd.pause();
  const completed = complete();
  await eventuallyEqual(t, async () => (await ask(two, path)).status, 200);
  t.equal((await asStranger(two, path)).status, 404);
  clamd.resume();
  t.match(await completed, { status: 422 });
  for (const sluice of [one, two]) {
    await eventuallyEqual(t, async () => (await ask(sluice, path)).status, 404);
    t.equal((await asStranger(sluice, path)).status, 404);
    t.strictSame(await names(sluice, 'refused'), [name]);
  }
});

t.test('a path keeps its file in both until the one that replaces it is published', async (t) => {
  const { folder } = (await ask(one, '/_f_/demo/new/a.txt', { method: 'PUT', body: 'old' })).json();
  const path = `/_f_/demo/${folder}/a.txt`;
  const body = 'x'.repeat(largest + 1);
  const held = await ask(one, path, { method: 'PUT', body, headers: { 'if-match': '*' } });
  t.match(held.json(), { state: 'checking' });
  const { name } = held.json();
  for (const sluice of [one, two]) {
    t.equal((await asStranger(sluice, path)).text, 'old');
    t.equal((await ask(sluice, path)).text, 'old');
    t.match(await ask(sluice, `/_f_/demo/${name}`), { status: 200, text: body }, 'by its name');
  }
  const publish = await runToEnd('cli/quarantine.ts', ['--publish', name], { ...env, DATA_DIR: one.dataDir });
  t.match(publish, { status: 0, stdout: `published: ${name}` });
  for (const sluice of [one, two])
    await eventuallyEqual(t, async () => (await asStranger(sluice, path)).text, body);
});
