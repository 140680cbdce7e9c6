import t from 'tap';
import { RecordsTable } from '#records/sql/records-table.ts';
import {
  type Assignment,
  changedRow,
  type RowUpdate,
  sumFailure,
  updateAssignments,
} from '#records/sql/update-sql.ts';
import type { Field } from '#records/structure/field.ts';
import { storedStructure } from '../services/stored-structure.ts';

const fields = storedStructure([
  { name: 'n', type: 'NUMBER' },
  { name: 'whole', type: 'INTEGER' },
  { name: 'big', type: 'BIGINT' },
  { name: 'price', type: 'DECIMAL', precision: 4, scale: 2 },
]).fields;
const [counted, whole, big, price] = fields as [Field, Field, Field, Field];
const now = new Date('2026-01-31T12:00:00.500Z');
const time =
  "_updated_at = greatest(toDateTime64('2026-01-31 12:00:00.500', 3, 'UTC'), addMilliseconds(_updated_at, 1))";
const row = (id: string, ...assignments: Assignment[]): RowUpdate => ({ spaceId: 's', id, assignments });
const sql = (...rows: RowUpdate[]): string => updateAssignments(rows, now);
const map = (values: string, place: string): string =>
  `JSONExtract('${values}', 'Array(Map(String, String))')[${place}]`;

t.test('one record', async (t) => {
  const place = "indexOf(['i\\'d'], _id)";
  t.equal(
    sql(row("i'd", { slot: 't3', value: "it's \\" })),
    `t3 = CAST(['it\\'s \\\\'], 'Array(Nullable(String))')[${place}], ` +
      `_doc = mapUpdate(_doc, ${map('[{"t3":"it\\\'s \\\\\\\\"}]', place)}), ${time}`,
  );
});

t.test('several records, each type, and null, which takes the value out of the map', async (t) => {
  const place = "indexOf(['x', 'y'], _id)";
  const without = `JSONExtract('[["n0"],["b1","n0"]]', 'Array(Array(String))')[${place}]`;
  t.equal(
    sql(
      row('x', { slot: 'b1', value: true }, { slot: 'n0', value: null }),
      row('y', { slot: 'b1', value: null }, { slot: 'n0', value: null }),
    ),
    `b1 = CAST(['true', NULL], 'Array(Nullable(Bool))')[${place}], ` +
      `n0 = CAST([NULL, NULL], 'Array(Nullable(Float64))')[${place}], ` +
      `_doc = mapFilter((slot, _) -> NOT has(${without}, slot), mapUpdate(_doc, ${map('[{"b1":"true"},{}]', place)})), ${time}`,
  );
  t.match(sql(row('x', { slot: 'n0', value: 0.1 })), /n0 = CAST\(\['0\.1'\], .*"n0":"0\.1"/);
});

t.test('what overflows lies in the map only', async (t) => {
  const text = sql(row('x', { slot: 'm12', value: 5 }));
  t.equal(text, `_doc = mapUpdate(_doc, ${map('[{"m12":"5"}]', "indexOf(['x'], _id)")}), ${time}`);
});

t.test('hashes lie in a map of their own, and in no other place', async (t) => {
  const place = "indexOf(['x'], _id)";
  t.equal(
    sql(row('x', { slot: 'h0', value: '$argon2id$' })),
    `_hashes = mapUpdate(_hashes, ${map('[{"h0":"$argon2id$"}]', place)}), ${time}`,
  );
  const both = sql(row('x', { slot: 'h0', value: null }, { slot: 't0', value: 'a' }));
  t.match(both, `_doc = mapUpdate(_doc, ${map('[{"t0":"a"}]', place)})`);
  t.match(both, /_hashes = mapFilter\(.*\[\["h0"\]\].*mapUpdate\(_hashes, /);
});

t.test('what is added is read and written in one step, in the column and in the map', async (t) => {
  const place = "indexOf(['x', 'y'], _id)";
  const sum = `(ifNull(n0, 0) + CAST(['1', '-0.5'], 'Array(Float64)')[${place}])`;
  t.equal(
    sql(
      row('x', { slot: 'n0', value: { by: 1, field: counted } }),
      row('y', { slot: 'n0', value: { by: -0.5, field: counted } }),
    ),
    `n0 = ${sum}, _doc = mapUpdate(_doc, map('n0', replaceRegexpOne(toString(${sum}), 'e([0-9])', 'e+\\\\1'))), ${time}`,
  );
  const both = sql(row('x', { slot: 'm1', value: { by: 2, field: counted } }, { slot: 't0', value: 'a' }));
  t.match(
    both,
    `_doc = mapUpdate(mapUpdate(_doc, ${map('[{"t0":"a"}]', "indexOf(['x'], _id)")}), map('m1', `,
  );
  t.match(both, "toFloat64OrZero(_doc['m1'])");
});

t.test('exact sums are computed with more digits than their fields have', async (t) => {
  const place = "indexOf(['x'], _id)";
  const text = sql(row('x', { slot: 'i0', value: { by: '-0.50', field: price } }));
  t.match(text, `i0 = toInt64((toInt256(ifNull(i0, 0)) + CAST(['-50'], 'Array(Int256)')[${place}])), `);
  t.match(text, "throwIf(NOT (abs(sum) < toInt256('10000')), 'no sum for slot i0')");
  const mapped = sql(row('x', { slot: 'm3', value: { by: '5', field: big } }));
  t.match(mapped, /^_doc = mapUpdate\(_doc, map\('m3', arrayMap\(sum -> /);
  t.match(mapped, "toInt256OrZero(replaceOne(_doc['m3'], '.', ''))");
});

t.test('a sum that is no value of its field is a 400, of the engine or of memory', async (t) => {
  const assignments: Assignment[] = [
    { slot: 'i0', value: { by: '0.01', field: price } },
    { slot: 'n1', value: { by: 1, field: whole } },
  ];
  const failure = (message: string) => sumFailure(new Error(message), assignments)?.problems;
  t.strictSame(failure('Code: 395. DB::Exception: no sum for slot n1: while executing'), [
    "Body field: 'whole' can not be incremented: the sum would be outside the range of INTEGER",
  ]);
  t.equal(failure('Code: 395. DB::Exception: no sum for slot n11: while executing'), undefined);
  t.equal(failure('Code: 62. DB::Exception: Syntax error: no sum for slot n1'), undefined);
  const before = { _id: 'x', _created_at: now.toISOString(), _updated_at: now.toISOString(), _hashes: {} };
  t.throws(() => changedRow({ ...before, _doc: { i0: '99.99' } }, assignments), {
    message:
      "Body field: 'price' can not be incremented: the sum would be outside the range of DECIMAL(4, 2)",
  });
  t.match(changedRow({ ...before, _doc: { i0: '-99.99', n1: '-1' } }, assignments), {
    _doc: { i0: '-99.98', n1: '0' },
  });
});

t.test('nothing but the time is set when nothing changes', async (t) => {
  t.equal(sql(row('x')), time);
});

t.test('every statement says of which spaces, and removal is never a mutation', async (t) => {
  const table = new RecordsTable({ servers: 1 }, 'd');
  const update = { id: "i'd", assignments: [{ slot: 't0', value: 'x' }] };
  t.match(
    table.update([{ ...update, spaceId: "s'" }], now).sql,
    /^UPDATE d\.records SET .* WHERE space = 's\\'' AND _id = 'i\\'d'$/,
  );
  t.equal(
    table.remove([
      { spaceId: 's', id: 'x' },
      { spaceId: 'u', id: "y'" },
    ]).sql,
    "DELETE FROM d.records WHERE space IN ('s', 'u') AND (space, _id) IN (('s', 'x'), ('u', 'y\\'')) " +
      "SETTINGS lightweight_delete_mode = 'lightweight_update_force'",
  );
  t.equal(
    table.clear('a1').sql,
    "DELETE FROM d.records WHERE space = 'a1' SETTINGS lightweight_delete_mode = 'lightweight_update_force'",
  );
});
