import t from 'tap';
import { assignment, removeSql, updateSql } from '../../query/sql/change-sql.ts';

const now = new Date('2026-01-31T12:00:00.500Z');
const time =
  "_updated_at = greatest(toDateTime64('2026-01-31 12:00:00.500', 3, 'UTC'), addMilliseconds(_updated_at, 1))";

t.test('one record', async (t) => {
  const rows = [{ id: "i'd", assignments: [assignment('full-name', 'String', "it's \\")] }];
  t.equal(
    updateSql('`d`.`t`', rows, now),
    "UPDATE `d`.`t` SET `full-name` = CAST(['it\\'s \\\\'], 'Array(Nullable(String))')[indexOf(['i\\'d'], _id)], " +
      `${time} WHERE _id IN ('i\\'d')`,
  );
});

t.test('several records, each type, NULL', async (t) => {
  const row = (id: string, a: number | null, b: boolean | null) => ({
    id,
    assignments: [assignment('a', 'Float64', a), assignment('b', 'Bool', b)],
  });
  t.equal(
    updateSql('t', [row('x', 0.1, true), row('y', null, null)], now),
    "UPDATE t SET `a` = CAST(['0.1', NULL], 'Array(Nullable(Float64))')[indexOf(['x', 'y'], _id)], " +
      "`b` = CAST(['true', NULL], 'Array(Nullable(Bool))')[indexOf(['x', 'y'], _id)], " +
      `${time} WHERE _id IN ('x', 'y')`,
  );
});

t.test('removal is never a mutation', async (t) => {
  t.equal(
    removeSql('t', ['x', "y'"]),
    "DELETE FROM t WHERE _id IN ('x', 'y\\'') SETTINGS lightweight_delete_mode = 'lightweight_update_force'",
  );
});
