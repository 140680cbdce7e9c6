import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { PackedRecords } from '../../query/records/packed-records.ts';
import { endOfRow, RowWriter, readRow } from '../../query/records/packed-row.ts';
import type { StoredRow } from '../../query/records/record-row.ts';
import { sized } from '../services/test-size.ts';

const time = '2026-01-02T03:04:05.678Z';
const rowOf = (id: string, value: string, about = ''): StoredRow => ({
  ...{ _id: id, _created_at: time, _updated_at: time },
  _doc: { t0: value, t1: about },
});

t.test('a row is read as it was written, and nothing is taken for a whole one before', async (t) => {
  const texts = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constant('x'.repeat(300)));
  const rows = fc.record({
    _id: texts,
    _created_at: fc.date({ min: new Date(0), noInvalidDate: true }).map((date) => date.toISOString()),
    _updated_at: fc.constant(time),
    _doc: fc.dictionary(fc.constantFrom('t0', 'n12', 'b1', 'm100', 't1'), texts, { noNullPrototype: true }),
  });
  const writer = new RowWriter();
  fc.assert(
    fc.property(rows, (row) => {
      const bytes = writer.write(row, 100_000) as Buffer;
      if (JSON.stringify(readRow(bytes, 0)) !== JSON.stringify(row)) throw new Error('it differs');
      if (endOfRow(bytes, 0) !== bytes.byteLength) throw new Error('it ends elsewhere');
      for (let cut = 0; cut < bytes.byteLength; cut += 7)
        if (!Number.isNaN(endOfRow(bytes.subarray(0, cut), 0))) throw new Error(`whole after ${cut} bytes`);
    }),
    { numRuns: sized(2000) },
  );
  t.equal(writer.write(rowOf('a', 'x'.repeat(1000)), 900), null, 'one that is too large is not written');
});

interface Step {
  readonly kind: 'add' | 'remove' | 'removeSpace' | 'get';
  readonly space: string;
  readonly id: string;
  readonly length: number;
}
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('add' as const, 'add' as const, 'add' as const, 'remove' as const, 'get' as const),
  space: fc.constantFrom('one', 'two', 'three'),
  id: fc.nat(60).map(String),
  length: fc.nat(120),
});
const clear: fc.Arbitrary<Step> = step.map((of) => ({ ...of, kind: 'removeSpace' as const }));

t.test('it has what was put into it, or nothing, and takes no more than it may', async (t) => {
  const limit = 30_000;
  let found = 0;
  let dropped = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 30, arbitrary: step }, { weight: 1, arbitrary: clear }), {
        minLength: 300,
        maxLength: 900,
      }),
      (steps) => {
        let highest = 0;
        const packed = new PackedRecords(limit, (last) => {
          dropped++;
          highest = Math.max(highest, last);
        });
        const truth = new Map<string, { readonly row: StoredRow; readonly number: number }>();
        steps.forEach(({ kind, space, id, length }, number) => {
          const key = `${space} ${id}`;
          if (kind === 'add') {
            packed.remove(space, id);
            const row = rowOf(id, `${space} ${number}`, 'x'.repeat(length));
            if (packed.add(space, row, ['t0', 't9'], number)) truth.set(key, { row, number });
          } else if (kind === 'remove') {
            packed.remove(space, id);
            truth.delete(key);
          } else if (kind === 'removeSpace') {
            packed.removeSpace(space);
            for (const other of truth.keys()) if (other.startsWith(`${space} `)) truth.delete(other);
          }
          if (packed.bytes > limit) throw new Error(`${packed.bytes} bytes`);
          const expected = truth.get(key);
          const row = packed.get(space, id);
          if (row === null) {
            if (expected !== undefined && expected.number > highest) throw new Error('it was dropped unseen');
            return;
          }
          found++;
          if (row._doc.t0 !== expected?.row._doc.t0) throw new Error(`${row._doc.t0} is not of ${number}`);
          const byValue = packed.byValue(space, 't0', row._doc.t0 as string);
          if (byValue?._id !== id) throw new Error('it is not found by its value');
          if (packed.byValue('another', 't0', row._doc.t0 as string) !== null)
            throw new Error('of another space');
        });
      },
    ),
    { numRuns: sized(400) },
  );
  t.ok(found > 1000, `${found} found`);
  t.ok(dropped > 10, `${dropped} slabs dropped`);
});

t.test('what is not asked for goes first', async (t) => {
  let now = 0;
  const packed = new PackedRecords(
    200_000,
    () => {},
    () => now,
  );
  const ids = Array.from({ length: 600 }, () => randomUUID());
  for (const id of ids) packed.add('asked', rowOf(id, id, 'x'.repeat(100)), ['t0'], 0);
  for (let index = 0; index < 20_000; index++) {
    now += 10;
    if (index % 50 === 0) for (const id of ids) packed.get('asked', id);
    packed.add('not asked', rowOf(`${index}`, `${index}`, 'x'.repeat(100)), ['t0'], 0);
  }
  t.equal(ids.filter((id) => packed.has('asked', id)).length, ids.length);
  t.ok(packed.bytes <= 200_000);
});

t.test('what is put in only where others are idle drops nothing that was asked for lately', async (t) => {
  let now = 0;
  const packed = new PackedRecords(
    100_000,
    () => {},
    () => now,
  );
  const writer = new RowWriter();
  const put = (id: string): boolean => {
    const bytes = writer.write(rowOf(id, id, 'x'.repeat(100)), 10_000) as Buffer;
    return packed.addPacked('idle only', { bytes, start: 0, end: bytes.byteLength }, ['t0'], 0, true);
  };
  let count = 0;
  while (put(`${count}`)) count++;
  t.ok(count > 200 && packed.has('idle only', '0'), `${count} fit`);
  t.ok(packed.room < 20_000);
  now += 60_001;
  t.ok(packed.room > 50_000, 'after a while they are free for others');
  t.ok(put('another'));
});
