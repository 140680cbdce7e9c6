/** A path of a folder between two gateways: it gets one file, and readers of the one see what the other replaced. */
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import type { Sluice } from '../services/start-sluice.ts';
import { twoGateways } from '../services/two-gateways.ts';

const { one, two } = await twoGateways(t);

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

async function ask({ baseUrl, token }: Sluice, path: string, { headers, ...sent }: Sent = {}) {
  const authorization = `Bearer ${token}`;
  const answer = await fetch(`${baseUrl}/_f_/demo${path}`, {
    ...sent,
    headers: { authorization, ...headers },
  });
  return { status: answer.status, text: await answer.text() };
}
const put = (sluice: Sluice, path: string, body: string, headers: Record<string, string> = {}) =>
  ask(sluice, path, { method: 'PUT', body, headers });
const newFolder = async (): Promise<string> =>
  JSON.parse((await put(one, '/new/index.m3u8', 'first')).text).folder;

t.test('of first files of a path through both gateways one is stored', async (t) => {
  const folder = await newFolder();
  t.equal((await ask(two, `/${folder}/index.m3u8`)).text, 'first');
  for (let round = 0; round < 10; round++) {
    const path = `/${folder}/${round}.ts`;
    const bodies = ['a', 'b', 'c', 'd'];
    const answers = await Promise.all(bodies.map((body, at) => put(at % 2 === 0 ? one : two, path, body)));
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const stored = bodies[answers.findIndex(({ status }) => status === 200)] as string;
    for (const sluice of [one, two])
      await eventuallyEqual(t, async () => (await ask(sluice, path)).text, stored, 'in both');
  }
});

t.test('what one gateway replaces, the other one shows soon, and never as missing', async (t) => {
  const folder = await newFolder();
  const path = `/${folder}/index.m3u8`;
  const seen = new Set<number>();
  const state = { over: false };
  const reading = (async () => {
    while (!state.over) seen.add((await ask(two, path)).status);
  })();
  for (let version = 0; version < 20; version++)
    t.equal((await put(one, path, `version ${version}`, { 'if-match': '*' })).status, 200);
  await eventuallyEqual(t, async () => (await ask(two, path)).text, 'version 19');
  state.over = true;
  await reading;
  t.strictSame([...seen], [200]);
  const { files } = JSON.parse((await ask(two, `?folder=${folder}`)).text);
  t.equal(files.length, 1);
});
