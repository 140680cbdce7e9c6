/** Clients of server-sent events, unmodified, follow one live query: over a silence, a cut and a restart. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { buildGo } from '../services/built-clients.ts';
import { LiveClient, type LiveRecord } from '../services/live-client.ts';
import { installPython } from '../services/python-packages.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { watchChild } from '../services/watch-child.ts';

const structure = structureOf('demo', 'people', fieldsOf('name TEXT', 'note TEXT'));
/** More than the 64 KiB that a client takes at once. What `splitlines` of Python takes for line breaks is part of them. */
const people = Array.from({ length: 700 }, (_, n) => ({
  name: `person ${n}`,
  note: `${'x'.repeat(200)}\u2028${n}\u2029é\u0085`,
}));

const python = await installPython([
  ...['requests==2.34.2', 'sseclient-py==1.9.0', 'httpx==0.28.1'],
  ...['httpx-sse==0.4.3', 'aiohttp==3.14.5', 'aiohttp-sse-client2==0.3.0'],
]);
const script = (name: string) => join(import.meta.dirname, name);
const inPython = (library: string) =>
  python === null ? null : ['python3', script('python/events.py'), library];
const inGo = async (name: string) => {
  const program = await buildGo(name);
  return program === null ? null : [program];
};
const commands = {
  'sseclient-py': inPython('sseclient-py'),
  'httpx-sse': inPython('httpx-sse'),
  'aiohttp-sse-client2': inPython('aiohttp-sse-client2'),
  'r3labs/sse': await inGo('events-r3labs'),
  'tmaxmax/go-sse': await inGo('events-gosse'),
  eventsource: [process.execPath, script('node/events.mjs')],
};

interface Event {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** A program that prints its events. */
function follow(name: string, command: readonly string[], url: string, token: string) {
  const [program = '', ...args] = command;
  const env = { PATH: process.env.PATH ?? '', PYTHONPATH: python ?? '', TOKEN: token };
  const child = watchChild(spawn(program, [...args, url], { env }), name);
  const events = (): Event[] =>
    child.output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const records = (): Map<string, LiveRecord> => {
    const all = new Map<string, LiveRecord>();
    for (const { event, data } of events()) {
      if (event === 'reset') all.clear();
      else if (event === 'leave') all.delete(JSON.parse(data).id);
      else if (['snapshot', 'enter', 'change'].includes(event))
        for (const record of [JSON.parse(data)].flat()) all.set(record.id, record);
    }
    return all;
  };
  return { name, events, records, untilReady: child.untilReady, end: () => child.end('SIGKILL') };
}

t.test('every client sees what happens', { timeout: 600_000 }, async (t) => {
  let sluice = await sluiceFor(t);
  const { hostname: host, port } = new URL(sluice.baseUrl);
  const target = { host, port: Number(port) };
  const proxy = await startTcpProxy({ target });
  t.teardown(() => proxy.close());
  const headers = { authorization: `Bearer ${sluice.token}`, 'content-type': 'application/json', structure };
  const send = async (method: string, path: string, body?: object): Promise<LiveRecord> => {
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${sluice.baseUrl}/demo/people${path}`, { method, headers, ...given });
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
    return (await answer.json()) as LiveRecord;
  };
  await send('POST', '', people);
  const path = '/demo/people';
  const clients = Object.entries(commands).flatMap(([name, command]) => {
    if (command === null) t.comment(`NOT TESTED with ${name}: what runs it is not there.`);
    return command === null ? [] : [follow(name, command, proxy.url + path, sluice.token)];
  });
  t.teardown(() => Promise.all(clients.map(({ end }) => end())));
  const witness = new LiveClient({ path, headers });
  t.teardown(() => witness.cut());
  const all = async (what: string, isSo: (records: Map<string, LiveRecord>) => boolean): Promise<void> => {
    for (const { name, records, untilReady } of clients) {
      await untilReady(async () => isSo(records()));
      t.pass(`${name}: ${what}`);
    }
  };
  const has = (name: string) => (records: Map<string, LiveRecord>) =>
    [...records.values()].some((record) => record.name === name);

  await witness.open(sluice.baseUrl);
  await witness.ready();
  await all('the records are there', (records) => records.size === people.length);
  for (const { name, records } of clients) {
    const notes = [...records().values()].map(({ note }) => note).sort();
    t.strictSame(notes, people.map(({ note }) => note).sort(), `${name}: texts are as they were`);
  }
  const ada = await send('POST', '/_single_', { name: 'Ada' });
  await all('a record comes', has('Ada'));
  await send('POST', `/update-by-id?id=${ada.id}`, { name: 'Ada Lovelace' });
  await all('it changes', has('Ada Lovelace'));
  await send('DELETE', `?id=${ada.id}`);
  await all('it goes', (records) => records.size === people.length);

  // a comment says that the stream is alive
  await witness.until(() => /\n:\n:\n:\n$/.test(witness.text));
  await send('POST', '/_single_', { name: 'after a silence' });
  await all('it comes after a silence', has('after a silence'));

  for (const connection of proxy.connections()) connection.cut('rst');
  await send('POST', '/_single_', { name: 'after a cut' });
  await all('it comes after a cut', has('after a cut'));
  for (const { name, events } of clients) {
    t.notOk(
      events().some(({ event }) => event === 'reset'),
      `${name}: it went on where it was`,
    );
    const enters = events().filter(({ event, data }) => event === 'enter' && data.includes('after a cut'));
    t.equal(enters.length, 1, `${name}: it comes once`);
  }

  await sluice.stop();
  sluice = await sluice.restart();
  target.port = Number(new URL(sluice.baseUrl).port);
  await send('POST', '/_single_', { name: 'after a restart' });
  await all('it comes after a restart', has('after a restart'));
  for (const { name, events } of clients) {
    const empty = events().filter(({ data }) => data === '');
    // they make one of the `retry:` at the end of an answer
    if (/r3labs|go-sse/.test(name)) t.ok(empty.length <= 2, `${name}: ${empty.length} events are empty`);
    else t.strictSame(empty, [], `${name}: no event is empty`);
  }
});
