/** How records of other servers are read again: requests that the servers would refuse as too long. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { parseMix } from '../../load/mix/read-mix.ts';
import { classReader } from '../../load/targets/parse/read-class.ts';
import { collectionReader } from '../../load/targets/pocketbase/read-collection.ts';
import { JsonCalls } from '../../load/targets/records/json-calls.ts';

const mix = parseMix(
  'mix.json',
  '{"spaces": [{"name": "people", "fields": [{"name": "email"}]}], "requests": [{"kind": "find"}]}',
);
const [space] = mix.spaces as [(typeof mix.spaces)[number]];
const values = Array.from({ length: 100 }, (_, at) => `${at}-${'x'.repeat(200)}`);

/** A server that answers each request with this value. */
async function callsTo(t: Test, value: unknown) {
  const requests: { readonly url: URL; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ url: new URL(request.url as string, 'http://test'), body: await text(request) });
    response.end(JSON.stringify(value));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const address = { kind: 'pocketbase', url, credential: null, options: {} } as const;
  const calls = new JsonCalls({ mix, address, signal: new AbortController().signal, progress: () => {} });
  t.teardown(() => {
    calls.close();
    server.close();
  });
  return { calls, requests };
}

t.test('PocketBase refuses filters of more than 3,500 bytes: there are several', async (t) => {
  const { calls, requests } = await callsTo(t, { items: [{ id: 'a' }] });
  const { signal } = new AbortController();
  const found = await collectionReader(calls, '', space).find('email', values, signal);
  const filters = requests.map(({ url }) => url.searchParams.get('filter') as string);
  t.equal(found.length, filters.length);
  t.ok(filters.length > 1 && filters.every(({ length }) => length <= 3500));
  t.strictSame(
    filters.join('||').split('||'),
    values.map((value) => `email="${value}"`),
  );
});

t.test(
  'Parse Server, as every Node server, refuses an address of more than 16 KiB: the condition is a body',
  async (t) => {
    const { calls, requests } = await callsTo(t, { results: [{ objectId: 'a' }] });
    const { signal } = new AbortController();
    t.match(await classReader(calls, '/parse', space).find('email', values, signal), [{ id: 'a' }]);
    t.equal(requests[0]?.url.pathname, '/parse/classes/SluiceLoad_people');
    t.match(JSON.parse(requests[0]?.body ?? ''), { _method: 'GET', where: { email: { $in: values } } });
  },
);
