import t from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { openChdb } from '#engine/open-chdb.ts';

/** Records of a megabyte, and of a few bytes in spaces around them. */
const largeBytes = 1_000_000;
const largeSpace = '8b658858-fabd-5a87-b2e8-b69e31b33b17';

t.test("a look-up reads little of other spaces' large records, however parts were merged", async (t) => {
  const db = openChdb({ path: `${t.testdir()}/chdb` });
  t.teardown(() => db.close());
  await migrate(db, 'sluice', migrations);
  const insert = (space: string, records: number, bytes: number): Promise<void> =>
    db.command({
      sql: `INSERT INTO sluice.records (space, _id, t0) SELECT ${space}, generateUUIDv7(number),
        repeat('x', ${bytes}) FROM numbers(${records})`,
    });
  // as batches are: a large record of one account beside small ones of many
  for (let i = 0; i < 20; i++) {
    await insert('generateUUIDv4(number)', 300, 50);
    await insert(`toUUID('${largeSpace}')`, 4, largeBytes);
    await db.command({ sql: 'OPTIMIZE TABLE sluice.records FINAL' });
  }
  // from 131,072 rows on, the engine has another way to merge
  for (let i = 0; i < 2; i++) await insert('generateUUIDv4(number)', 70_000, 50);
  await db.command({ sql: 'OPTIMIZE TABLE sluice.records FINAL' });
  const granules = await db.rows<{ rows: number }>({
    sql: `SELECT rows_in_granule AS rows FROM mergeTreeIndex('sluice', 'records') ORDER BY mark_number`,
  });
  const large = await db.rows<{ row: number }>({
    sql: `SELECT _part_offset AS row FROM sluice.records WHERE space = '${largeSpace}'`,
  });
  t.equal(large.length, 80);
  let from = 0;
  const most = Math.max(
    ...granules.map(({ rows }) => {
      const to = from + Number(rows);
      const inside = large.filter(({ row }) => Number(row) >= from && Number(row) < to).length;
      from = to;
      return inside;
    }),
  );
  t.ok(most <= 12, `a granule has ${most} large records at most`);
});
