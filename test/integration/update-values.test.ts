/** Values that updates wrote go when no record has them any more, and never those that one has. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { keyOf } from '#records/sql/record-keys.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { UpdateValues } from '#records/store/update-values.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { silentLog } from '../services/silent-log.ts';

t.test('values that no record has are taken out', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const table = new RecordsTable(db, database);
  const [space, other] = [randomUUID(), randomUUID()];
  const insert = (rows: readonly object[]): Promise<void> =>
    db.insert({
      table: `${database}.records`,
      lines: Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
    });
  const record = (id: string, doc: object, of = space) => ({ space: of, _id: id, _doc: doc });
  await insert([record('a', { t0: 'now', n0: '3' }), record('a', { t0: 'now' }, other)]);
  const now = Math.floor(Date.now() / 1000);
  const update = (id: string, slot: string, value: string, hours: number, of = space): string =>
    `${JSON.stringify({ space: of, key: keyOf(slot, value), _id: id, _written: now - hours * 3600 })}\n`;
  const all = [
    update('a', 't0', 'before', 5),
    update('a', 't0', 'now', 4),
    update('a', 't0', 'now', 3),
    update('a', 'n0', '3', 2),
    update('a', 'n0', '+', 9),
    update('a', 't0', 'on its way', 0.5),
    update('gone', 't0', 'now', 2),
    update('gone', 'n0', '+', 2),
    update('a', 't0', 'before', 5, other),
  ];
  await db.insert({ table: `${database}.record_keys`, lines: Buffer.from(all.join('')) });
  const values = new UpdateValues({ db, table, log: silentLog(), most: 3 });
  values.wrote([space, space]);
  await values.idle();
  const left = async (of: string): Promise<readonly string[]> => {
    const sql = `SELECT concat(_id, ' ', toString(key)) AS row FROM ${database}.record_keys WHERE space = '${of}' ORDER BY _written`;
    return (await db.rows<{ row: string }>({ sql })).map(({ row }) => row);
  };
  t.equal((await left(space)).length, 8, 'not yet');
  values.wrote([space]);
  await values.idle();
  t.strictSame(await left(space), [
    `a ${keyOf('n0', '+')}`,
    `a ${keyOf('t0', 'now')}`,
    `a ${keyOf('n0', '3')}`,
    `a ${keyOf('t0', 'on its way')}`,
  ]);
  t.equal((await left(other)).length, 1, 'nothing of another space');
});
