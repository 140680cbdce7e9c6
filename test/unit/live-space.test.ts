/** The changes that a space logs for clients that reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { LiveSpace, mostLoggedBytes } from '#query/live/live-space.ts';
import { LiveStream } from '#query/live/live-stream.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { wholeRecord } from '#records/structure/record-parts.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const view = spaceWith(storedStructure(fieldsOf('name TEXT')));
const subscription = { view, key: '', conditions: allRecords, shown: wholeRecord(view.structure) };
const time = '2026-01-01T00:00:00.000Z';

function rowOf(id: number, length: number): StoredRow {
  return { _id: `${id}`, _created_at: time, _updated_at: time, _doc: { t0: 'x'.repeat(length) } };
}

function spacesOf(count: number) {
  const logs = { bytes: 0, spaces: () => count };
  const spaces = Array.from(
    { length: count },
    () => new LiveSpace({ singleWriter: true, logs, log: silentLog() }),
  );
  return { logs, spaces };
}

/** Whether a client resumes from a cursor. */
function resumes(space: LiveSpace, cursor: string): boolean {
  const stream = new LiveStream({ bytes: 0, most: mostLoggedBytes, streams: 1 });
  const query = space.join(stream, subscription);
  const isResumed = space.resume(stream, query, { view, cursor });
  space.leave(stream, query, subscription);
  return isResumed;
}

/** The cursor of a new client. */
function cursorIn(space: LiveSpace): string {
  const stream = new LiveStream({ bytes: 0, most: mostLoggedBytes, streams: 1 });
  const query = space.join(stream, subscription);
  const cursor = space.cursorOf(query);
  space.leave(stream, query, subscription);
  return cursor;
}

t.test('a space that changes much does not cost the others what they keep', async (t) => {
  const { logs, spaces } = spacesOf(2);
  const [small, large] = spaces as [LiveSpace, LiveSpace];
  const cursors = [cursorIn(small), cursorIn(large)] as const;
  small.changed([{ id: '0', before: null, after: rowOf(0, 10) }], 1);
  for (let at = 0; at < 100; at++) {
    large.changed([{ id: `${at}`, before: null, after: rowOf(at, 500_000) }], 1);
    small.changed([{ id: `${at}`, before: null, after: rowOf(at, 10) }], 1);
    await Promise.all([large.caughtUp(), small.caughtUp()]);
  }
  t.ok(logs.bytes < 1.1 * mostLoggedBytes, `${logs.bytes}`);
  t.equal(resumes(small, cursors[0]), true);
  t.equal(resumes(large, cursors[1]), false);
  t.equal(resumes(large, cursorIn(large)), true);
  large.reset();
  small.reset();
  t.equal(logs.bytes, 0);
});

t.test('records that were removed are counted, too', async (t) => {
  const { logs, spaces } = spacesOf(1);
  const [space] = spaces as [LiveSpace];
  for (let at = 0; at < 100; at++)
    space.changed([{ id: `${at}`, before: rowOf(at, 1_000_000), after: null }], 1);
  await space.caughtUp();
  t.ok(logs.bytes > 2_000_000 && logs.bytes < 1.1 * mostLoggedBytes, `${logs.bytes}`);
});

t.test('a space that is left while it tells of changes keeps nothing', async (t) => {
  const { logs, spaces } = spacesOf(1);
  const [space] = spaces as [LiveSpace];
  let told = 0;
  function* changes() {
    for (let at = 0; at < 40_000; at++) {
      told = at;
      yield { id: `${at}`, before: null, after: rowOf(at, 1000) };
    }
  }
  space.changed(changes(), 40_000);
  const caughtUp = space.caughtUp();
  while (told === 0) await sleep(0);
  space.reset();
  await caughtUp;
  await sleep(20);
  t.equal(logs.bytes, 0);
  t.ok(told < 39_999);
});
