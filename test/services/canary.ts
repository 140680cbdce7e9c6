import type { Database } from '#engine/database.ts';
import { type QueryHarness, spaceOf, testDatabase } from './query-harness.ts';
import { structureOf } from './record-client.ts';

const fields = [
  { name: 'text', type: 'TEXT', unique: true },
  { name: 'number', type: 'NUMBER' },
  { name: 'flag', type: 'BOOLEAN' },
  { name: 'list', type: 'ARRAY' },
  { name: 'map', type: 'OBJECT' },
];
const records = [
  { text: 'canary', number: 1, flag: true, list: [1], map: { a: 1 } },
  { text: '', number: 0, flag: false, list: [], map: {} },
  { text: 'other' },
];

/**
 * What nobody else may touch: records of another owner and of another project, and the tables of the store. Makes the
 * canary's spaces: owner `canary` under the slugs that tests use, and a project of the tests' own owner.
 */
export async function openCanary(harness: QueryHarness, project: string, space: string) {
  const structure = structureOf(project, space, fields);
  const path = `/${project}/${space}`;
  await harness.call({ path, structure, body: records, owner: 'canary' });
  const beside = spaceOf(harness, 'canary', 'birds', structureOf('canary', 'birds', fields));
  await beside.insert(records);
  return {
    /** Everything that must not have changed. */
    async look() {
      const { db } = harness;
      return {
        records: [
          (await harness.call({ path, structure, owner: 'canary' })).text,
          (await beside.find()).text,
        ],
        structures: await db.rows({
          sql: `SELECT id, toFloat64(version) AS version, structure FROM ${testDatabase}.record_spaces FINAL
           WHERE owner_id = 'canary' OR slug = 'birds' ORDER BY id`,
        }),
        tables: await db.rows({
          sql: `SELECT database, name, engine FROM system.tables
           WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
           ORDER BY database, name`,
        }),
        // spaces that have records or keys, and are not in the catalogue
        strays: await straysIn(db),
        owners: await db.rows({
          sql: `SELECT DISTINCT owner_id FROM ${testDatabase}.record_spaces FINAL ORDER BY owner_id`,
        }),
        settings: await db.rows({
          sql: `SELECT name, value FROM system.settings WHERE changed AND name != 'log_comment' ORDER BY name`,
        }),
      };
    },
  };
}

async function straysIn(db: Database): Promise<readonly string[]> {
  const known = await db.rows<{ id: string }>({
    sql: `SELECT DISTINCT id FROM ${testDatabase}.record_spaces`,
  });
  const stored = await db.rows<{ space: string }>({
    sql: `SELECT DISTINCT toString(space) AS space FROM ${testDatabase}.records
      UNION DISTINCT SELECT DISTINCT toString(space) FROM ${testDatabase}.record_keys`,
  });
  const ids = new Set(known.map(({ id }) => id));
  return stored.map(({ space }) => space).filter((space) => !ids.has(space));
}
