/** How late events are: notes of writes and events of threads, and what the main thread makes of them. */
import t from 'tap';
import { LiveNotes, type NoteBatch } from '../../load/live/live-notes.ts';
import { EventDelays } from '../../load/run/event-delays.ts';
import { decodeHistogram } from '../../load/run/histogram.ts';

/** Keys and times. */
type Notes = readonly (readonly [number, number])[];

function batchOf(writes: Notes, events: Notes, every = 1): NoteBatch {
  return { writes: Float64Array.from(writes.flat()), events: Float64Array.from(events.flat()), every };
}

/** Milliseconds and how often they were measured, of these batches. */
function measured(...batches: readonly NoteBatch[]): (readonly [number, number])[] {
  const delays = new EventDelays();
  for (const batch of batches) delays.add(batch);
  const latency = delays.end();
  if (latency === null) return [];
  const histogram = decodeHistogram(latency.histogram);
  const counts = new Map<number, number>();
  for (let number = 0; number < histogram.totalCount; number++) {
    const microseconds = histogram.getValueAtPercentile((100 * (number + 0.75)) / histogram.totalCount);
    const milliseconds = Number((microseconds / 1000).toPrecision(2));
    counts.set(milliseconds, (counts.get(milliseconds) ?? 0) + 1);
  }
  return [...counts];
}

const began = Date.UTC(2026, 0, 1);

t.test('each event counts from the acknowledgement of its write, whichever note comes first', async (t) => {
  const writes = batchOf(
    [
      [1, began],
      [2, began + 500],
    ],
    [],
  );
  const events = batchOf(
    [],
    [
      [1, began + 20],
      [1, began + 50],
      [2, began + 700],
      [3, began],
    ],
  );
  const both = [
    [20, 1],
    [50, 1],
    [200, 1],
  ];
  t.strictSame(measured(writes, events), both);
  t.strictSame(measured(events, writes), both);
});

t.test('an event that comes before the acknowledgement is not late', async (t) => {
  t.strictSame(measured(batchOf([], [[1, began]]), batchOf([[1, began + 3000]], [])), [[0, 1]]);
});

t.test('nothing is late when no event tells of a write', async (t) => {
  t.strictSame(measured(batchOf([[1, began]], [[2, began]])), []);
  t.equal(new EventDelays().end(), null);
});

t.test('an event of a sample counts for those that it stands for', async (t) => {
  t.strictSame(measured(batchOf([[1, began]], [[1, began + 7]], 4)), [[7, 4]]);
});

t.test('a write is forgotten after a minute', async (t) => {
  const later = Array.from({ length: 90 }, (_, second) =>
    batchOf([[1000 + second, began + 1000 * second]], []),
  );
  const event = batchOf(
    [],
    [
      [1, began + 90_000],
      [1080, began + 90_000],
    ],
  );
  t.strictSame(measured(batchOf([[1, began]], []), ...later, event), [[10_000, 1]]);
});

t.test('of many notes a thread keeps an even sample, and says so', async (t) => {
  const notes = new LiveNotes();
  t.equal(notes.take(), null);
  notes.areWritesNoted = true;
  for (let number = 0; number < 10_000; number++) {
    notes.heard(`${number}`, null);
    if (number < 100) notes.wrote(`${number}`, 'x');
  }
  const { writes, events, every } = notes.take() as NoteBatch;
  t.equal(writes.length, 2 * 100);
  t.equal(every, 8);
  t.equal(events.length, 2 * (10_000 / 8));
  for (let call = 0; call < 3; call++) {
    notes.heard('1', null);
    notes.take();
  }
  notes.heard('1', null);
  t.match(notes.take(), { every: 1 });
});

t.test('a write and its events have one key, and writes of another value another', async (t) => {
  const notes = new LiveNotes();
  notes.wrote('a', 1);
  notes.areWritesNoted = true;
  notes.wrote('a', 2);
  for (const value of [1, 2, '2', null]) notes.heard('a', value);
  const { writes, events } = notes.take() as NoteBatch;
  t.equal(writes.length, 2, 'a write that does not count is not noted');
  const same = [0, 2, 4, 6].map((at) => events[at] === writes[0]);
  t.strictSame(same, [false, true, true, false]);
});
