/** What a space keeps for clients that come back. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { keptBytes, LiveSpace } from '#query/live/live-space.ts';
import { LiveStream } from '#query/live/live-stream.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { wholeRecord } from '#records/structure/record-parts.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const view = spaceWith(storedStructure(fieldsOf('name TEXT')));
const wanted = { view, key: '', conditions: allRecords, shown: wholeRecord(view.structure) };
const time = '2026-01-01T00:00:00.000Z';

function rowOf(id: number, length: number): StoredRow {
  return { _id: `${id}`, _created_at: time, _updated_at: time, _doc: { t0: 'x'.repeat(length) } };
}

function spacesOf(count: number) {
  const kept = { bytes: 0, spaces: () => count };
  const spaces = Array.from(
    { length: count },
    () => new LiveSpace({ singleWriter: true, kept, log: silentLog() }),
  );
  return { kept, spaces };
}

/** Whether a client goes on at a place. */
function resumes(space: LiveSpace, place: string): boolean {
  const stream = new LiveStream({ bytes: 0, most: keptBytes, streams: 1 });
  const query = space.join(stream, wanted);
  const isResumed = space.resume(stream, query, { view, place });
  space.leave(stream, query, wanted);
  return isResumed;
}

/** Where a new client of it is. */
function placeIn(space: LiveSpace): string {
  const stream = new LiveStream({ bytes: 0, most: keptBytes, streams: 1 });
  const query = space.join(stream, wanted);
  const place = space.placeOf(query);
  space.leave(stream, query, wanted);
  return place;
}

t.test('a space that changes much does not cost the others what they keep', async (t) => {
  const { kept, spaces } = spacesOf(2);
  const [small, large] = spaces as [LiveSpace, LiveSpace];
  const places = [placeIn(small), placeIn(large)] as const;
  small.changed([{ id: '0', before: null, after: rowOf(0, 10) }], 1);
  for (let at = 0; at < 100; at++) {
    large.changed([{ id: `${at}`, before: null, after: rowOf(at, 500_000) }], 1);
    small.changed([{ id: `${at}`, before: null, after: rowOf(at, 10) }], 1);
    await Promise.all([large.caughtUp(), small.caughtUp()]);
  }
  t.ok(kept.bytes < 1.1 * keptBytes, `${kept.bytes}`);
  t.equal(resumes(small, places[0]), true);
  t.equal(resumes(large, places[1]), false);
  t.equal(resumes(large, placeIn(large)), true);
  large.reset();
  small.reset();
  t.equal(kept.bytes, 0);
});

t.test('records that were removed are counted, too', async (t) => {
  const { kept, spaces } = spacesOf(1);
  const [space] = spaces as [LiveSpace];
  for (let at = 0; at < 100; at++)
    space.changed([{ id: `${at}`, before: rowOf(at, 1_000_000), after: null }], 1);
  await space.caughtUp();
  t.ok(kept.bytes > 2_000_000 && kept.bytes < 1.1 * keptBytes, `${kept.bytes}`);
});

t.test('a space that is left while it tells of changes keeps nothing', async (t) => {
  const { kept, spaces } = spacesOf(1);
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
  t.equal(kept.bytes, 0);
  t.ok(told < 39_999);
});
