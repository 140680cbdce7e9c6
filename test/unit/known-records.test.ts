import fc from 'fast-check';
import t from 'tap';
import { MemoryTables, type TableLoad } from '#records/memory/memory-tables.ts';
import { PackedRows, RowWriter } from '#records/sql/packed-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { sized } from '../services/test-size.ts';

const spaceId = '00000000-0000-5000-8000-000000000000';
const unique = ['t0'];
const time = '2026-01-02T03:04:05.678Z';
const rowOf = (id: string, value: string): StoredRow => ({
  _id: id,
  _created_at: time,
  _updated_at: time,
  _doc: { t0: value, t1: 'x'.repeat(100) },
});

type Step =
  | { readonly kind: 'write'; readonly id: string; readonly value: string | null }
  | { readonly kind: 'flush' | 'clear' | 'startLoad' | 'endLoad' };

const idOf = (place: number): string => `0190a1b2-c3d4-7000-8000-${String(place).padStart(12, '0')}`;
const ids = Array.from({ length: 8 }, (_, place) => idOf(place));
const id = fc.constantFrom(...ids);
const values = ['1', '2', '3', '4', '5', '6'];
const value = fc.constantFrom(...values);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), id, value: fc.option(value) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('startLoad' as const, 'endLoad' as const) }),
  },
);

const writer = new RowWriter();
function packed(rows: readonly StoredRow[]): PackedRows {
  const all = new PackedRows();
  for (const row of rows) all.add(Buffer.from(writer.write(row, 10_000) as Buffer));
  return all;
}

/** Does the steps beside a table that is always right, and says where an answer would have been wrong. */
function problemOf(bytes: number, steps: readonly Step[], loads: { count: number }): string | null {
  const known = new KnownRecords(new MemoryTables(bytes));
  const truth = new Map<string, StoredRow>();
  let table = new Map<string, StoredRow>();
  let number = 0;
  let pending = new Set<string>();
  let load: { readonly of: TableLoad; readonly rows: PackedRows } | null = null;
  const check = (): string | null => {
    for (const wanted of ids) {
      const found = known.find(spaceId, { id: wanted });
      const rows = found?.complete ? found.rows : [table.get(wanted)].filter((row) => row !== undefined);
      if (rows[0]?._doc.t0 !== truth.get(wanted)?._doc.t0) return `the id ${wanted}`;
    }
    for (const text of values) {
      const found = known.find(spaceId, { slot: 't0', value: text });
      const stored = [...table.values()].filter(
        ({ _id, _doc }) => _doc.t0 === text && !found?.outdated.has(_id),
      );
      const ids = (found?.complete ? found.rows : stored).map(({ _id }) => _id);
      const expected = [...truth.values()].filter(({ _doc }) => _doc.t0 === text).map(({ _id }) => _id);
      if (ids.join() !== expected.join()) return `the value ${text}: ${ids.join()}, not ${expected.join()}`;
    }
    return null;
  };
  for (const next of steps) {
    if (next.kind === 'write') {
      const before = truth.get(next.id) ?? null;
      const taken = [...truth.values()].some(({ _id, _doc }) => _id !== next.id && _doc.t0 === next.value);
      // values are unique, and only what is there is removed
      if (taken || (next.value === null && before === null)) continue;
      const row = next.value === null ? null : rowOf(next.id, next.value);
      if (row === null) truth.delete(next.id);
      else truth.set(next.id, row);
      known.apply({ spaceId, id: next.id, row, hashes: {}, changed: [], unique }, before, ++number);
      pending.add(next.id);
    } else if (next.kind === 'flush') {
      table = new Map(truth);
      for (const settled of pending) known.settle(spaceId, settled, number);
      pending = new Set();
    } else if (next.kind === 'clear') {
      if (pending.size > 0) continue;
      truth.clear();
      table.clear();
      known.tables.drop(spaceId);
    } else if (next.kind === 'startLoad') {
      const begun = known.load(spaceId, 'account', unique);
      // what the table has when the reading begins is the oldest that it may answer
      if (begun !== null) load = { of: begun, rows: packed([...table.values()]) };
    } else if (next.kind === 'endLoad' && load !== null) {
      while (load.of.add(load.rows));
      if (load.of.end()) loads.count++;
      load = null;
    }
    const problem = check();
    if (problem !== null) return `${next.kind}: ${problem}`;
  }
  return null;
}

for (const [name, bytes] of [
  ['room for none', 0],
  ['room for few', 4500],
  ['room for all', 1_000_000],
] as const) {
  t.test(`what is known is never older than the last write, with ${name}`, async (t) => {
    const loads = { count: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 90 }), (steps) => {
        const problem = problemOf(bytes, steps, loads);
        if (problem !== null) throw new Error(problem);
      }),
      { numRuns: sized(3000) },
    );
    t.equal(loads.count > 10, bytes > 0, `${loads.count} loads`);
  });
}

t.test('records that are not in the table yet are held whatever they take', async (t) => {
  const known = new KnownRecords(new MemoryTables(0));
  for (let i = 0; i < 100; i++) {
    const row = rowOf(idOf(i), `v${i}`);
    known.apply({ spaceId, id: row._id, row, hashes: {}, changed: null, unique }, null, i + 1);
  }
  for (let i = 0; i < 100; i++) t.ok(known.find(spaceId, { id: idOf(i) })?.complete);
  t.equal(known.lastPending(spaceId), 100);
  for (let i = 0; i < 100; i++) known.settle(spaceId, idOf(i), 100);
  t.equal(known.lastPending(spaceId), undefined);
  t.equal(known.find(spaceId, { id: idOf(5) }), null);
});
