/** The table that lists files: what a list reads, and what it makes of rows that the other table does not have. */
import t from 'tap';
import type { Database } from '#engine/database.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { fileRow } from '#gateway/catalogue/file-row.ts';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';

const never = new AbortController().signal;
const { db } = await openMigratedChdb(t);

/** Files of an account, newest first; every three are of one millisecond. */
function filesOf(ownerId: string, count: number): readonly CloudFile[] {
  const start = Date.UTC(2026, 0, 2);
  const made = Array.from({ length: count }, (_, i) =>
    newFile({ ownerId, createdAt: new Date(start + Math.floor(i / 3)) }),
  );
  return made.sort((a, b) => (before(b, a) ? -1 : 1));
}

function before(a: CloudFile, b: CloudFile): boolean {
  return a.createdAt < b.createdAt || (a.createdAt.getTime() === b.createdAt.getTime() && a.id < b.id);
}

async function listed(ownerId: string, limit: number, over: Database = db): Promise<readonly string[]> {
  const files = createCloudFiles({ db: over, database: 'sluice' });
  const seen: CloudFile[] = [];
  for (;;) {
    const page = await files.list({ ownerId, projectSlug: 'demo', limit, after: seen.at(-1) }, never);
    seen.push(...page);
    if (page.length < limit) return seen.map(({ name }) => name);
  }
}

t.test('a list reads as much whether others have many files or none', async (t) => {
  const read: number[] = [];
  const counted: Database = {
    ...db,
    async rows(statement) {
      const estimate = await db.rows<{ rows: number }>({ sql: `EXPLAIN ESTIMATE ${statement.sql}` });
      read.push(estimate.reduce((sum, { rows }) => sum + Number(rows), 0));
      return db.rows(statement);
    },
  };
  const files = createCloudFiles({ db: counted, database: 'sluice', singleWriter: true });
  const own = filesOf('me', 30);
  for (const file of own) await files.insert(file, never);
  const names = own.map(({ name }) => name);
  const query = { ownerId: 'me', projectSlug: 'demo', limit: 11 };
  const page = async () => {
    read.length = 0;
    const found = await files.list(query, never);
    t.strictSame(
      found.map(({ name }) => name),
      names.slice(0, 11),
    );
    return read.reduce((sum, rows) => sum + rows, 0);
  };
  await page();
  const others = `SELECT concat('owner', toString(number % 100)) AS owner_id, 'demo' AS project_slug, now64(3) AS created_at,
    toString(generateUUIDv4()) AS id, concat(id, '_a.txt') AS name, 'a.txt' AS original_name, 'text/plain' AS content_type,
    '' AS owner FROM numbers(300000)`;
  const columns = 'owner_id, project_slug, created_at, id, name, original_name, content_type, owner';
  await db.command({ sql: `INSERT INTO sluice.file_list (${columns}) ${others}` });
  await db.command({
    sql: `INSERT INTO sluice.cloud_files (id, name, original_name, owner_id, project_slug, object_key, content_type, created_at)
      SELECT id, name, original_name, owner_id, project_slug, '', content_type, created_at FROM sluice.file_list WHERE owner_id != 'me'`,
  });
  const many = await page();
  t.ok(many < 20_000, `${many} rows of 300,030`);
  t.strictSame(await listed('me', 7), names, 'another process finds them, too');
});

t.test('rows listed and not stored leave no hole, and those listed twice are there once', async (t) => {
  const files = createCloudFiles({ db, database: 'sluice' });
  const own = filesOf('holes', 40);
  for (const file of own) await files.insert(file, never);
  const gone = own.filter((_, i) => i % 5 === 0 || (i > 10 && i < 25));
  for (const { name } of gone) {
    const sql = `DELETE FROM sluice.cloud_files WHERE name = '${name}' SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;
    await db.command({ sql });
  }
  await db.command({
    sql: `INSERT INTO sluice.file_list SELECT * FROM sluice.file_list WHERE owner_id = 'holes'`,
  });
  const names = own.filter((file) => !gone.includes(file)).map(({ name }) => name);
  for (const limit of [1, 2, 3, 7, 40]) t.strictSame(await listed('holes', limit), names, `by ${limit}`);
  const query = { ownerId: 'holes', projectSlug: 'demo', limit: 3 };
  t.equal(await files.count(query, never), own.length, 'those that are listed twice are counted once');
});

t.test('a file whose row could not be stored is not listed, a removed one is in neither table', async (t) => {
  const faulty = new FaultyDatabase();
  faulty.fails = ({ verb, table }) => verb === 'INSERT' && table === 'cloud_files';
  const failed = newFile({ ownerId: 'few' });
  await t.rejects(createCloudFiles({ db: faulty.wrap(db), database: 'sluice' }).insert(failed, never), {
    message: 'disk full',
  });
  t.strictSame(await listed('few', 2), []);
  const files = createCloudFiles({ db, database: 'sluice' });
  const removed = newFile({ ownerId: 'few' });
  await files.insert(removed, never);
  t.strictSame(await listed('few', 2), [removed.name]);
  await files.remove(removed.name, never);
  t.strictSame(await listed('few', 2), []);
  for (const table of ['cloud_files', 'file_list']) {
    const sql = `SELECT 1 FROM sluice.${table} WHERE name = '${removed.name}'`;
    t.strictSame(await db.rows({ sql }), [], table);
  }
});

t.test('pages stay exact while files come and go', async (t) => {
  const files = createCloudFiles({ db, database: 'sluice' });
  const own = filesOf('busy', 60);
  for (const file of own.slice(20)) await files.insert(file, never);
  const seen: CloudFile[] = [];
  const gone = new Set<string>();
  for (let round = 0; ; round++) {
    const page = await files.list(
      { ownerId: 'busy', projectSlug: 'demo', limit: 8, after: seen.at(-1) },
      never,
    );
    seen.push(...page);
    if (page.length < 8) break;
    // newer ones come before what was seen, and one of those that are still to come goes
    await files.insert(own[round] as CloudFile, never);
    const next = own[own.findIndex(({ id }) => id === seen.at(-1)?.id) + 3];
    if (next === undefined) continue;
    await files.remove(next.name, never);
    gone.add(next.name);
  }
  const expected = own.slice(20).filter(({ name }) => !gone.has(name));
  t.ok(gone.size > 2);
  t.strictSame(
    seen.map(({ name }) => name),
    expected.map(({ name }) => name),
  );
});

t.test('a hundred files deleted at once took two hundred statements, one after another', async (t) => {
  const { asked, wrap } = new FaultyDatabase();
  const files = createCloudFiles({ db: wrap(db), database: 'sluice' });
  const own = filesOf('many', 101);
  await files.insertRows(own.map(fileRow));
  const [kept, ...gone] = own;
  const removed = await Promise.all(gone.map(({ name }) => files.remove(name, never)));
  t.strictSame(new Set(removed), new Set([true]));
  const deletes = () => asked.filter(({ verb }) => verb === 'DELETE').length;
  t.equal(deletes(), 2, 'those that came while none was under way went into one');
  t.strictSame(await listed('many', 7), [kept?.name]);
  t.equal(await files.count({ ownerId: 'many', projectSlug: 'demo', limit: 1 }, never), 1, 'nor in the list');
  t.equal(await files.remove(gone[0]?.name ?? '', never), false, 'there is no row any more');
  t.equal(deletes(), 2);
});
