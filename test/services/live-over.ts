/** Live queries over a store whose moments a test chooses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { LiveRequest } from '#query/live/live-request.ts';
import { type LiveParts, LiveStreams } from '#query/live/live-streams.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { ChangeListener, RowChange } from '#records/store/row-change.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { fakeRequest } from './fake-request.ts';
import { fieldsOf } from './record-client.ts';
import { silentLog } from './silent-log.ts';
import { spaceWith, storedStructure } from './stored-structure.ts';

export const space: RecordSpace = spaceWith(storedStructure(fieldsOf('name TEXT')));
const time = '2026-01-01T00:00:00.000Z';

export function rowOf(id: string, name: string): StoredRow {
  return { _id: id, _created_at: time, _updated_at: time, _doc: { t0: name } };
}

/** A store of rows, and the live queries over it. */
export function liveOver(t: { teardown(end: () => Promise<void>): void }, singleWriter = true) {
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
      singleWriter,
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
        const found = [...rows.values()].map(({ _id, _doc: { t0 = '' } }) => ({ _id, _bytes: t0.length }));
        await given.onMatching();
        return found;
      },
      count: async () => rows.size,
    },
  } as unknown as LiveParts);
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
    return Promise.all([...listeners].map((listener) => listener.exclusive(read(listener))));
  };
  return {
    given,
    rows,
    listeners,
    tell,
    tellLater,
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
      const requested = { body: undefined, key: JSON.stringify(query) };
      const operation = { name: 'find', family: 'find', needs: 'find' } as never;
      const cursor = headers['last-event-id'] ?? '';
      const { body } = streams.answer({ request, operation, requested, space, cursor });
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
