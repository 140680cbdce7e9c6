/** A store of a version before the index of values: what it has is found, before its parts are merged and after. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import { migrate } from '../../common/metadata/migrate.ts';
import { migrations } from '../../common/metadata/migrations.ts';
import { RecordsTable } from '../../query/sql/records-table.ts';
import { indexOldParts } from '../../query/store/index-old-parts.ts';
import { silentLog } from '../services/silent-log.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const database = 'sluice';
const before = 29;
const space = randomUUID();
const count = 5000;

t.test('a store of an earlier version', async (t) => {
  // in the suite `served` it is a server's
  const server = process.env.SLUICE_TEST_SERVED === undefined ? null : await startClickhouse();
  const db =
    server === null ? openChdb({ path: await temporaryFolder(t) }) : openTestClickhouse({ url: server.url });
  t.teardown(async () => {
    await db.close();
    await server?.close();
  });
  await migrate(
    db,
    database,
    migrations.filter(({ version }) => version < before),
  );
  const insert = (from: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, i) =>
      JSON.stringify({ space, _id: `id ${from + i}`, t0: `n${from + i}`, _doc: { t0: `n${from + i}` } }),
    );
    const lines = Buffer.from(`${rows.join('\n')}\n`);
    return db.insert({ table: `${database}.records`, lines });
  };
  const update = (id: string, value: string): Promise<void> =>
    db.command({
      sql: `UPDATE ${database}.records SET t0 = '${value}', _doc = mapUpdate(_doc, map('t0', '${value}'))
        WHERE space = '${space}' AND _id = '${id}'`,
    });
  await db.command({ sql: `SYSTEM STOP MERGES ${database}.records` });
  await insert(0);
  await update('id 7', 'changed before');
  await migrate(db, database, migrations);
  await insert(count);
  const table = new RecordsTable(db, database);
  const find = async (value: string): Promise<readonly string[]> => {
    const statement = table.selectByValues([{ spaceId: space, slot: 't0', value }], '_id, _doc');
    const rows = await db.rows<{ _id: string; _doc: Record<string, string> }>(statement);
    return rows.filter(({ _doc }) => _doc.t0 === value).map(({ _id }) => _id);
  };
  const check = async (when: string): Promise<void> => {
    for (const [value, ids] of [
      ['n1', ['id 1']],
      ['n7', []],
      ['changed before', ['id 7']],
      ['n6000', ['id 6000']],
      ['none', []],
    ] as const)
      t.strictSame(await find(value), ids, `${when}: ${value}`);
  };
  await check('not merged');
  await db.command({ sql: `SYSTEM START MERGES ${database}.records` });
  const said: unknown[] = [];
  const log = {
    ...silentLog(),
    info: (...all: unknown[]) => void said.push(all),
    warn: (...all: unknown[]) => void t.fail(JSON.stringify(all)),
  };
  await indexOldParts({ db, database, log }, new AbortController().signal);
  t.match(said, [[{ records: count }], [{ records: count }]]);
  await check('merged');
  await indexOldParts({ db, database, log }, new AbortController().signal);
  t.equal(said.length, 2, 'once');
  // a row without values has a part with an index, too
  await db.insert({
    table: `${database}.records`,
    lines: Buffer.from(`{"space":"${space}","_id":"bare"}\n`),
  });
  await indexOldParts({ db, database, log }, new AbortController().signal);
  t.equal(said.length, 2, 'and not for such a part');
});
