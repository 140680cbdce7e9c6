/** Stores with files and projects of the version before rules of files, whose processes may still write beside new ones. */
import { join } from 'node:path';
import t from 'tap';
import { type FileCondition, noFile } from '#catalogue/file-rules/file-rules.ts';
import { migrate } from '#catalogue/migrate.ts';
import { fileOwners } from '#catalogue/migrations/file-owners.ts';
import { migrations } from '#catalogue/migrations.ts';
import { TableFiles } from '#catalogue/project-files.ts';
import { Projects } from '#catalogue/projects.ts';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { fileRow, type TableRows, tableRows } from '#gateway/catalogue/file-row.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { readFileRules } from '#query/login/file-rules.ts';
import { newFile } from '../services/new-file.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const never = new AbortController().signal;
const database = 'older';
const ownerId = 'account';

/** Columns that later versions added. */
const later: readonly unknown[] = [
  ...['owner', 'verified', 'folder', 'path', 'expires_at', 'trashed_at', 'state'],
  ...['width', 'height', 'duration'],
];

/** Inserts as the version before does: it names its columns, and has none for owners, rules, proofs and media. */
function versionBefore(db: Database) {
  const insert = async (table: string, { columns, lines: line }: TableRows): Promise<void> => {
    const values = JSON.parse(Buffer.from(line).toString()) as unknown[];
    const kept = columns.filter((column) => !later.includes(column));
    const lines = Buffer.from(`${JSON.stringify(values.filter((_, at) => !later.includes(columns[at])))}\n`);
    await db.insert({ table: `${database}.${table}`, columns: kept, lines });
  };
  return {
    async insertFile(file: CloudFile): Promise<void> {
      const { files, list } = tableRows([fileRow(file)], true);
      await insert('cloud_files', files);
      await insert('file_list', list);
    },
    async insertProject(slug: string, id: string): Promise<void> {
      const lines = Buffer.from(`${JSON.stringify([id, ownerId, slug, '2026-01-01 00:00:00.000', 0])}\n`);
      const columns = ['id', 'owner_id', 'slug', 'created_at', 'version'];
      await db.insert({ table: `${database}.projects`, columns, lines });
    },
  };
}

for (const kind of ['embedded', 'served'] as const) {
  t.test(kind, async (t) => {
    const folder = await temporaryFolder(t);
    const server = kind === 'served' ? await startClickhouse({ dataDir: join(folder, 'server') }) : null;
    const db = server ? openTestClickhouse(server) : openChdb({ path: join(folder, 'chdb') });
    t.teardown(async () => {
      await db.close();
      await server?.kill();
    });
    const older = versionBefore(db);
    await migrate(
      db,
      database,
      migrations.filter(({ version }) => version < fileOwners.version),
    );
    const fresh = () => new Projects({ db, database, singleWriter: false, knownFor: 0 });
    const project = { id: uuidV5(ownerId, 'demo'), ownerId, slug: 'demo' };
    const old = newFile({ ownerId, size: 7 });
    await older.insertFile(old);
    await older.insertProject('demo', project.id);

    await migrate(db, database, migrations);
    await migrate(db, database, migrations);
    const files = createCloudFiles({ db, database });
    const query = { ownerId, projectSlug: 'demo', limit: 10 };
    const listed = async (condition?: FileCondition) =>
      (await files.list({ ...query, condition }, never)).map(({ name }) => name).sort();
    const ofAda: FileCondition = { field: 'owner', operator: 'eq', values: ['ada'] };
    const ofNobody: FileCondition = { field: 'owner', operator: 'exists', values: [0] };
    t.match(await files.findByName(old.name, never), { size: 7, owner: undefined });
    t.strictSame(await listed(), [old.name]);
    t.strictSame([await listed(ofAda), await listed(ofNobody)], [[], [old.name]]);
    t.match(await fresh().find(ownerId, 'demo', never), { id: project.id, fileRules: undefined });

    const { rules } = readFileRules({ read: true, list: { owner: '$user.id' } }, []);
    await fresh().setFileRules(project, rules, never);
    const mine = newFile({ ownerId, owner: 'ada' });
    await files.insert(mine, never);
    // a process of the version before stores a file, and makes the project as one that it does not know yet
    const beside = newFile({ ownerId });
    await older.insertFile(beside);
    await older.insertProject('demo', project.id);
    t.strictSame((await fresh().find(ownerId, 'demo', never))?.fileRules, rules, 'the rules stay');
    t.strictSame(await listed(ofAda), [mine.name]);
    t.strictSame(await listed(ofNobody), [old.name, beside.name].sort());
    t.strictSame(await listed(noFile), []);
    const tried = await new TableFiles(db, database).named(project, [old.name, mine.name], never);
    t.strictSame(tried.find(({ name }) => name === mine.name)?.owner, 'ada');
    t.strictSame(tried.find(({ name }) => name === old.name)?.owner, undefined);
    t.equal(tried.length, 2);
    await db.command({ sql: `OPTIMIZE TABLE ${database}.projects FINAL` });
    t.strictSame((await fresh().find(ownerId, 'demo', never))?.fileRules, rules, 'also after a merge');
  });
}
