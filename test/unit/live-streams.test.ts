/** Live finds over a store whose moments a test chooses. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { unmeasured } from '../../common/telemetry/create-metrics.ts';
import { LiveRequest } from '../../query/live/live-request.ts';
import { type LiveDeps, LiveStreams } from '../../query/live/live-streams.ts';
import type { StoredRow } from '../../query/sql/stored-row.ts';
import type { ChangeListener, RowChange } from '../../query/store/row-change.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const space = spaceWith(storedStructure(fieldsOf('name TEXT')));
const time = '2026-01-01T00:00:00.000Z';

function rowOf(id: string, name: string): StoredRow {
  return { _id: id, _created_at: time, _updated_at: time, _doc: { t0: name } };
}

/** A store of rows, and the live finds over it. */
function liveOver(t: { teardown(end: () => Promise<void>): void }, alone = true) {
  const rows = new Map<string, StoredRow>();
  const listeners = new Set<ChangeListener>();
  const given = {
    onLookUp: async (_id: string) => {},
    onMatching: async () => {},
    openSpace: async () => space,
    streams: () => 0,
  };
  const streams = new LiveStreams({
    config: { liveMaxStreams: 1000, liveMaxTokenStreams: 1000 },
    log: silentLog(),
    metrics: {
      ...unmeasured,
      gauge: (_name: string, _help: string, read: () => number) => {
        given.streams = read;
      },
    },
    authenticate: async () => ({ userId: 'owner', tokenId: 't' }),
    openSpace: () => given.openSpace(),
    store: {
      alone,
      async lookUp(_space: unknown, { id }: { id: string }) {
        const row = rows.get(id);
        await given.onLookUp(id);
        return [row].filter((row) => row !== undefined);
      },
      async listen(_id: string, listener: ChangeListener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    reader: {
      async matching() {
        const found = [...rows.keys()].map((_id) => ({ _id, _bytes: 10 }));
        await given.onMatching();
        return found;
      },
      count: async () => rows.size,
    },
  } as unknown as LiveDeps);
  t.teardown(() => streams.close());
  const tell = (changes: Iterable<RowChange>, count = 1): void => {
    for (const listener of listeners) listener.changed(changes, count);
  };
  /** As a store does that reads the row first. */
  const tellLater = (id: string): Promise<unknown> => {
    const read = (listener: ChangeListener) => async (): Promise<void> => {
      const after = rows.get(id) ?? null;
      await sleep(10);
      listener.changed([{ id, before: undefined, after }], 1);
    };
    return Promise.all([...listeners].map((listener) => listener.alone(read(listener))));
  };
  return {
    ...{ given, rows, listeners, tell, tellLater },
    write(id: string, name: string | null): void {
      const before = rows.get(id) ?? null;
      const after = name === null ? null : rowOf(id, name);
      if (after === null) rows.delete(id);
      else rows.set(id, after);
      tell([{ id, before, after }]);
    },
    watch(headers: Readonly<Record<string, string>> = {}, query: [string, string][] = []) {
      const leaving = new AbortController();
      const request = new LiveRequest(fakeRequest({ headers, query, signal: leaving.signal }));
      const asked = { body: undefined, key: JSON.stringify(query) };
      const operation = { name: 'find', family: 'find', needs: 'find' } as never;
      const place = headers['last-event-id'] ?? '';
      const { body } = streams.answer({ request, operation, asked, space, place });
      const chunks = (body as { chunks: AsyncGenerator<Buffer> }).chunks;
      return clientOf(chunks, () => leaving.abort());
    },
  };
}

/** A client that reads when it waits for something. */
function clientOf(chunks: AsyncGenerator<Buffer>, leave: () => void) {
  const client = {
    text: '',
    chunks,
    leave,
    /** Their types, and the ids of their records. */
    events: () =>
      [...client.text.matchAll(/event: (\w+)\ndata: (.*)/g)].map(([, type, data]) =>
        [type, ...[...String(data).matchAll(/"id":"(\w+)"/g)].map(([, id]) => id)].join(' '),
      ),
    async until(pattern: RegExp): Promise<void> {
      while (!pattern.test(client.text)) {
        const next = await chunks.next();
        if (next.done === true) throw new Error(`it ended after ${client.text}`);
        client.text += next.value.toString();
      }
    },
  };
  return client;
}

t.test('what changes while the records are read comes before ready, each record once', async (t) => {
  const { given, rows, write, watch } = liveOver(t);
  for (const id of ['1', '2', '3']) rows.set(id, rowOf(id, 'old'));
  given.onLookUp = async (id) => {
    if (id !== '1') return;
    write('2', 'new');
    write('2', 'newer');
    write('3', null);
    write('4', 'late');
    await nextTurn();
  };
  const client = watch();
  await client.until(/event: ready/);
  t.strictSame(client.events(), ['snapshot 1 2', 'change 2', 'leave 3', 'enter 4', 'ready']);
  t.match(client.text, /newer/);
  t.notMatch(client.text, /new"/, 'nothing older after it');
});

t.test('records that are to be read again while they are read', async (t) => {
  const { given, rows, listeners, watch } = liveOver(t);
  for (let at = 0; at < 1200; at++) rows.set(`${at}`, rowOf(`${at}`, 'x'));
  let times = 0;
  given.onLookUp = async (id) => {
    if (id === '10' && ++times === 1) for (const listener of listeners) listener.reset();
  };
  const client = watch();
  await client.until(/event: ready/);
  const types = client.events().map((event) => event.split(' ')[0]);
  t.strictSame(types, ['snapshot', 'reset', 'snapshot', 'snapshot', 'snapshot', 'ready']);
});

t.test('where rows are read later, a client hears that a record left that it had for a moment', async (t) => {
  const { given, rows, tell, tellLater, watch } = liveOver(t, false);
  for (const id of ['1', '2', '3']) rows.set(id, rowOf(id, 'x'));
  let told: Promise<unknown> | undefined;
  given.onLookUp = async (id) => {
    if (id !== '2') return;
    // the snapshot has read it, and is on its way
    rows.delete(id);
    told = tellLater(id);
    await sleep(20);
  };
  const client = watch();
  await client.until(/event: ready/);
  await told;
  await client.until(/event: leave/);
  t.strictSame(client.events(), ['snapshot 1 2 3', 'ready', 'leave 2']);
  // new, and gone when its row was read: the snapshot came in between
  tell([{ id: '1', before: null, after: null }]);
  tell([{ id: '1', before: undefined, after: null }]);
  tell([{ id: '3', before: undefined, after: rowOf('3', 'y') }]);
  await client.until(/event: change/);
  t.strictSame(client.events().slice(3), ['leave 1', 'change 3']);
});

t.test('where rows are read later, nothing older comes after a snapshot', async (t) => {
  const { given, rows, tellLater, watch } = liveOver(t, false);
  const first = watch();
  await first.until(/event: ready/);
  rows.set('1', rowOf('1', 'older'));
  const reading = tellLater('1');
  rows.set('1', rowOf('1', 'newer'));
  const second = watch();
  await second.until(/event: ready/);
  t.strictSame(second.events(), ['snapshot 1', 'ready']);
  t.match(second.text, /newer/);
  await reading;
  // told before the snapshot reads it, and changed in between
  given.onMatching = async () => {
    await tellLater('1');
    rows.set('1', rowOf('1', 'newest'));
  };
  const third = watch();
  await third.until(/event: ready/);
  t.strictSame(third.events(), ['snapshot 1', 'ready']);
  t.match(third.text, /newest/);
});

t.test('a client that takes nothing gets the records again, and holds nobody back', async (t) => {
  const { given, rows, write, watch } = liveOver(t);
  const slow = watch();
  const quick = watch();
  await slow.until(/event: ready/);
  await quick.until(/event: ready/);
  for (let at = 0; at < 15; at++) {
    write(`${at}`, 'x'.repeat(100_000));
    await quick.until(new RegExp(`"id":"${at}"`));
  }
  t.notMatch(quick.text, /reset/);
  await slow.until(/event: ready[\s\S]*event: reset[\s\S]*event: ready/);
  t.equal(slow.events().filter((event) => event.startsWith('enter')).length, 0);
  t.equal(slow.events().at(-2)?.split(' ').length, 1 + rows.size);
  t.equal(given.streams(), 2);
});

t.test('many clients that take nothing do not cost the others their events', async (t) => {
  const { write, watch } = liveOver(t);
  const quick = watch();
  const slow = Array.from({ length: 67 }, () => watch());
  for (const client of [quick, ...slow]) await client.until(/event: ready/);
  // nearly what one may have, and what all may have
  for (let at = 0; at < 10; at++) {
    write(`${at}`, 'x'.repeat(99_800));
    await quick.until(new RegExp(`"id":"${at}"`));
  }
  write('last', 'x'.repeat(150_000));
  await quick.until(/"id":"last"/);
  t.notMatch(quick.text, /reset/);
  for (const client of slow) {
    await client.until(/"id":"last"/);
    t.match(client.text, /reset/);
  }
});

t.test('a client that has gone leaves nothing', async (t) => {
  const { given, rows, write, watch, listeners } = liveOver(t);
  rows.set('1', rowOf('1', 'x'));
  const waiting = watch();
  await waiting.until(/event: ready/);
  const next = waiting.chunks.next();
  waiting.leave();
  t.strictSame(await next, { value: undefined, done: true });
  // one that did not take what it was given
  const stalled = watch();
  await stalled.until(/event: ready/);
  write('2', 'x');
  stalled.leave();
  await stalled.chunks.return(undefined);
  // one that goes while its records are read
  const early = watch();
  given.onLookUp = async () => early.leave();
  await t.rejects(early.until(/event: ready/));
  t.equal(given.streams(), 0);
  t.equal(listeners.size, 1, 'they may come back');
});

t.test('a client that missed more than may wait is told to forget what it has', async (t) => {
  const { rows, write, watch } = liveOver(t);
  rows.set('old', rowOf('old', 'x'));
  const client = watch();
  await client.until(/event: ready/);
  const [, place = ''] = /id: (.*)\nevent: ready/.exec(client.text) ?? [];
  client.leave();
  await client.chunks.next();
  write('old', null);
  for (let at = 0; at < 12; at++) write(`${at}`, 'x'.repeat(100_000));
  await sleep(50);
  const again = watch({ 'last-event-id': place });
  await again.until(/event: ready/);
  t.match(again.text, /^retry: \d+\n\nid: 0\nevent: reset\n/);
  t.equal(again.events().at(-2)?.split(' ').length, 1 + rows.size);
});

t.test('changes that can not be told', async (t) => {
  const { tell, write, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  function* broken(): Generator<RowChange> {
    yield { id: '1', before: null, after: rowOf('1', 'x') };
    throw new Error('no memory');
  }
  tell(broken(), 2);
  await client.until(/event: reset[\s\S]*event: ready/);
  write('2', 'x');
  await client.until(/event: enter\ndata: {"id":"2"/);
  t.equal(client.events().at(-1), 'enter 2');
});

t.test('a space that is seen in another way is read again', async (t) => {
  const { given, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  for (const change of [
    { structure: storedStructure(fieldsOf('name TEXT, age NUMBER')) },
    { missing: true },
  ]) {
    client.text = '';
    const seen = { ...space, ...change } as typeof space;
    given.openSpace = async () => seen;
    const again = /event: reset[\s\S]*event: ready/;
    const read = client.until(again);
    // the timer of the checks alone keeps no process
    while (!again.test(client.text)) await sleep(20);
    await read;
  }
});

t.test('a check that takes too long ends nothing; one that refuses does', async (t) => {
  const { given, write, watch } = liveOver(t);
  const client = watch();
  await client.until(/event: ready/);
  let checks = 0;
  given.openSpace = async () => {
    checks++;
    throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  };
  while (checks < 2) await sleep(20);
  await nextTurn();
  write('1', 'x');
  await client.until(/event: enter/);
  given.openSpace = async () => {
    throw new Error('unexpected');
  };
  const ended = client.until(/: it failed\n\n$/);
  // the timer of the checks alone keeps no process
  while (!client.text.endsWith('it failed\n\n')) await sleep(20);
  await ended;
  t.equal((await client.chunks.next()).done, true);
  t.equal(given.streams(), 0);
});
