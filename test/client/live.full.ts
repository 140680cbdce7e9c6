/** Live queries of the client: against a service, through cuts, and against what only looks like one. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  connect,
  deleteOne,
  insert,
  type LiveEvent,
  live,
  number,
  type SluiceError,
  setStructure,
  space,
  text,
  update,
} from '#client/index.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { type Answer, cut, page, refuse, scriptedServer } from './scripted-server.ts';

const portOf = ({ baseUrl }: Sluice): number => Number(new URL(baseUrl).port);
let sluice = await sluiceFor(t);
const target = { host: '127.0.0.1', port: portOf(sluice) };
const proxy = await startTcpProxy({ target });
t.teardown(() => proxy.close());
const db = connect({ url: proxy.url, token: sluice.token, project: 'shop' });
const people = space('people', { name: text({ required: true }), age: number() });
await setStructure(db, people);

/** Reads to the end, and keeps what came. */
function follow<Value>(steps: AsyncIterable<LiveEvent<Value>>) {
  const types: string[] = [];
  let records: ReadonlyMap<string, Value> = new Map();
  const done = (async () => {
    for await (const step of steps) {
      types.push(step.type);
      records = step.records;
    }
  })();
  return { types, records: () => [...records.values()], done };
}

t.test('records come, change and go', async (t) => {
  const ada = await insert(db, people, { name: 'Ada', age: 36 });
  const steps = live(db, people, { where: { age: { gte: 18 } }, select: ['name'] });
  t.match(await steps.next(), { value: { type: 'ready', id: undefined, record: undefined } });
  const grace = await insert(db, people, { name: 'Grace', age: 40 });
  const { value: entered } = await steps.next();
  t.strictSame(entered?.record, { id: grace.id, name: 'Grace' });
  t.equal(entered?.type, 'enter');
  t.strictSame(
    [...(entered?.records.values() ?? [])],
    [
      { id: ada.id, name: 'Ada' },
      { id: grace.id, name: 'Grace' },
    ],
  );
  await update(db, people, ada.id, { name: 'Ada L.' });
  t.match(await steps.next(), { value: { type: 'change', id: ada.id, record: { name: 'Ada L.' } } });
  await update(db, people, ada.id, { age: 1 });
  const { value: left } = await steps.next();
  t.match(left, { type: 'leave', id: ada.id, record: undefined });
  t.equal(left?.records.size, 1);
  await deleteOne(db, people, grace.id);
  t.match(await steps.next(), { value: { type: 'leave', id: grace.id } });
  await steps.return?.();
  await deleteOne(db, people, ada.id);
});

t.test('its end closes the connection, also while nothing comes', async (t) => {
  const before = proxy.connections().length;
  const steps = live(db, people);
  await steps.next();
  const next = steps.next();
  await sleep(50);
  await steps.return?.();
  t.strictSame(await next, { value: undefined, done: true });
  t.strictSame(await steps.next(), { value: undefined, done: true });
  await eventuallyEqual(t, () => proxy.connections().length <= before, true);

  const controller = new AbortController();
  const aborted = live(db, people, { signal: controller.signal });
  await aborted.next();
  const reason = new Error('enough');
  setTimeout(() => controller.abort(reason), 50);
  t.equal(await rejectionOf(aborted.next()), reason);
  t.equal(await rejectionOf(live(db, people, { signal: controller.signal }).next()), reason);
  for await (const { type } of live(db, people)) {
    t.equal(type, 'ready');
    break;
  }
});

t.test('it goes on after a cut, and misses nothing', async (t) => {
  const steps = live(db, people);
  const followed = follow(steps);
  await eventuallyEqual(t, () => followed.types, ['ready']);
  const direct = connect({ ...db, url: sluice.baseUrl });
  for (const connection of proxy.connections()) connection.cut('rst');
  const ada = await insert(direct, people, { name: 'Ada', age: 1 });
  await eventuallyEqual(t, () => followed.types, ['ready', 'enter', 'ready']);
  t.strictSame(followed.records(), [ada]);
  await steps.return?.();
  await followed.done;
  await deleteOne(direct, people, ada.id);
});

t.test('it goes on after a restart of the service', async (t) => {
  const steps = live(db, people);
  const followed = follow(steps);
  await eventuallyEqual(t, () => followed.types, ['ready']);
  await sluice.stop();
  await sleep(500);
  sluice = await sluice.restart();
  target.port = portOf(sluice);
  const direct = connect({ ...db, url: sluice.baseUrl });
  const ada = await insert(direct, people, { name: 'Ada', age: 1 });
  await eventuallyEqual(t, () => followed.records(), [ada]);
  await update(direct, people, ada.id, { age: 2 });
  await eventuallyEqual(t, () => followed.records().map(({ age }) => age), [2]);
  await steps.return?.();
  await followed.done;
});

t.test('a revoked token ends it, and so does a refusal', async (t) => {
  const wrong = { ...db, token: 'no-token' };
  t.match(await rejectionOf(live(wrong, people).next()), { code: 'unauthorized', status: 401 });
  const steps = live(db, people, { limit: 20_000 });
  t.match(await rejectionOf(steps.next()), { code: 'invalid_options' });
  t.strictSame(await steps.next(), { value: undefined, done: true });
});

const head: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 20\n\n');
};
const says =
  (...events: readonly (readonly [id: string, event: string, data: unknown])[]): Answer =>
  (response) => {
    head(response);
    for (const [id, event, data] of events)
      response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
const ready = says(['0', 'snapshot', [{ id: 'a' }, { id: 'b' }]], ['x.1', 'ready', {}]);
const ending =
  (answer: Answer): Answer =>
  (response) => {
    answer(response);
    response.end(': the server stops\n\n');
  };

async function scripted(t: Test, answers: readonly Answer[]) {
  const server = await scriptedServer(t, answers);
  return { ...server, db: connect({ url: server.url, token: 't', project: 'shop', retries: 1 }) };
}

t.test('it comes back with the last id, through everything that passes', async (t) => {
  const soon = { 'retry-after': '0' };
  const { db, heard } = await scripted(t, [
    ending(ready),
    ...[cut, refuse(503, 'overloaded', soon), refuse(429, 'too_many_streams', soon), page(502), page(200)],
    ending(says(['x.2', 'leave', { id: 'a' }])),
    says(['0', 'reset', {}], ['0', 'snapshot', [{ id: 'c' }]], ['y.1', 'ready', {}]),
  ]);
  const steps = live(db, people);
  const first = await steps.next();
  t.equal(first.value?.records.size, 2);
  t.match(await steps.next(), { value: { type: 'leave', id: 'a' } });
  const { value } = await steps.next();
  t.strictSame([...(value?.records.keys() ?? [])], ['c'], 'nothing is left of before the reset');
  t.strictSame(
    heard.map(({ headers }) => headers['last-event-id']),
    [...[undefined, 'x.1', 'x.1', 'x.1', 'x.1', 'x.1', 'x.1', 'x.2']],
  );
  t.equal(first.value?.records.size, 1, 'and who shows the old records sees no half list');
  await steps.return?.();
});

t.test('what never was the service is told at once', async (t) => {
  for (const answer of [page(200), page(404)]) {
    const { db, heard } = await scripted(t, [answer]);
    t.match(await rejectionOf(live(db, people).next()), { code: 'not_sluice' });
    t.equal(heard.length, 1);
  }
  const { db } = await scripted(t, [cut]);
  t.match(await rejectionOf(live(db, people).next()), { code: 'no_answer' });
  const gone = await scripted(t, [ending(ready), refuse(401, 'unauthorized')]);
  const steps = live(gone.db, people);
  await steps.next();
  t.match(await rejectionOf(steps.next()), { code: 'unauthorized' } satisfies Partial<SluiceError>);
});

t.test('a connection that says nothing for 40 s is made again', async (t) => {
  const { setTimeout: original } = globalThis;
  // for the 40 s to pass
  globalThis.setTimeout = ((run: () => void, milliseconds: number) =>
    original(run, milliseconds === 40_000 ? 200 : milliseconds)) as typeof setTimeout;
  t.teardown(() => {
    globalThis.setTimeout = original;
  });
  const { db, heard } = await scripted(t, [ready, says(['x.2', 'leave', { id: 'b' }], ['x.2', 'ready', {}])]);
  const steps = live(db, people);
  await steps.next();
  t.match(await steps.next(), { value: { type: 'leave', id: 'b' } });
  t.equal(heard.length, 2);
  await steps.return?.();
});

t.test('events may come in any pieces', async (t) => {
  const name = '日本'.repeat(50);
  const bytes = Buffer.from(
    `:\n\nid: 0\nevent: snapshot\ndata: [{"id":"a","name":"${name}"}]\n\nid: 1\nevent: ready\ndata: {}\n\n`,
  );
  const pieces: Answer = async (response) => {
    head(response);
    for (let at = 0; at < bytes.length; at += 7) {
      response.write(bytes.subarray(at, at + 7));
      await sleep(1);
    }
  };
  const { db } = await scripted(t, [pieces]);
  const steps = live(db, people);
  const { value } = await steps.next();
  t.strictSame([...(value?.records.values() ?? [])], [{ id: 'a', name }] as never);
  await steps.return?.();
});
