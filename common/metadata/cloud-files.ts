import { LRUCache } from 'lru-cache';
import type { Database } from '../clickhouse/database.ts';
import { createGroupCommit } from '../clickhouse/group-commit.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import { topologyOf } from '../clickhouse/topology.ts';
import { CacheCounts } from '../metrics/cache-counts.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { type FileQuery, fileListColumns, listFiles, timeLiteral } from './file-list.ts';
import { FileLookup } from './file-lookup.ts';
import { type FileRow, fileColumns, fileRow } from './file-row.ts';

/** A stored file. It never changes once it is there. */
export interface CloudFile {
  /** UUID. */
  readonly id: string;
  /** Unique; the last segment of the file's address. */
  readonly name: string;
  readonly originalName: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly objectKey: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What files an account has stored. */
export interface StorageUse {
  readonly files: number;
  readonly bytes: number;
}

export interface CloudFiles {
  /** Tells that a row will come soon, so that others wait for it a little. Call what it answers when it is over. */
  announce(): () => void;
  /** Resolves when the row is durable. After a rejection it may still appear, if the engine was at work on it. */
  insert(file: CloudFile, signal: AbortSignal): Promise<void>;
  findByName(name: string, signal: AbortSignal): Promise<CloudFile | null>;
  /** Which of the names have a row. @param names a few thousand at most */
  namesWithRow(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Rows that were made between two times, newest first. */
  madeBetween(after: Date, before: Date, limit: number, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** A page of the files of a project, newest first. */
  list(query: FileQuery, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** Files whose rows are durable, of one account. */
  usedBy(ownerId: string, signal: AbortSignal): Promise<StorageUse>;
  /** Removes the row of a file whose object is not there. From then on this process does not find it. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

const cachedFiles = 10_000;
/** How long a file is known without another look where other processes may delete it. Milliseconds. */
const knownFor = 60_000;

/** Doubles hold every size and time exactly up to 2^53; 64-bit integers would depend on output settings. */
const selection = `id, name, original_name, owner_id, project_slug, object_key, content_type,
  toFloat64(size) AS bytes, crc32,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

interface Row {
  id: string;
  name: string;
  original_name: string;
  owner_id: string;
  project_slug: string;
  object_key: string;
  content_type: string;
  bytes: number;
  crc32: number;
  created: number;
  updated: number;
}

/** Without, a DELETE is a mutation, and waits for merges. */
const deleteSettings = `SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;

/** Bytes of rows that may wait to be stored, and that are gathered for one INSERT. */
const pendingLimit = 64 * 1024 * 1024;
const insertLimit = 4 * 1024 * 1024;
/** How long an INSERT waits for rows that were announced. Milliseconds (docs/decisions/009-rows-of-small-files.md). */
const gatherWait = 6;

/** The table itself, for who keeps rows elsewhere first. */
export interface FileTable extends CloudFiles {
  /** Stores rows as one block, all or none. The name of each must be new. */
  insertRows(rows: readonly FileRow[]): Promise<void>;
  /** Notes that the table has the file, so that nobody has to ask. */
  remember(file: CloudFile): void;
}

/**
 * @param args.database name of the database that holds the metadata tables
 * @param args.alone whether no other process deletes files
 */
export function createCloudFiles({
  db,
  database,
  alone = false,
  metrics,
}: {
  db: Database;
  database: string;
  alone?: boolean;
  metrics?: Pick<Metrics, 'cache' | 'batch'>;
}): FileTable {
  const table = `${database}.cloud_files`;
  const list = `${database}.file_list`;
  const home = 'cloud_files';
  const { rowsEverywhere } = topologyOf(db);
  // one INSERT costs milliseconds and a part, however few its rows: uploads that end together share one
  let announced = 0;
  const gather = { expected: () => announced, wait: gatherWait };
  const counts = metrics?.cache('files') ?? new CacheCounts();
  const onInsert = metrics?.batch('file_inserts');
  const onLookup = metrics?.batch('file_lookups');
  const groupCommit = createGroupCommit({ db, pendingLimit, insertLimit, gather, onStatement: onInsert });
  const known = new LRUCache<string, CloudFile>({ max: cachedFiles, ttl: alone ? 0 : knownFor });
  /** A look that began before the removal may end after it. Names never come again. */
  const removed = new LRUCache<string, true>({ max: cachedFiles });
  const filesOf = async (names: readonly string[], signal: AbortSignal, account?: string) => {
    if (names.length === 0) return new Map<string, CloudFile>();
    const among = names.map(textLiteral).join(', ');
    const sql = `SELECT ${selection} FROM ${table} WHERE name IN (${among})`;
    const rows = await db.rows<Row>({ sql, signal, home, account });
    return new Map(rows.map((row) => [row.name, fileOf(row)]));
  };
  const lookup = new FileLookup<CloudFile>((names, signal) => {
    onLookup?.(names.length);
    return filesOf(names, signal);
  });
  /** Names lie anywhere in the table: of those that are known nothing is read. */
  const listed = async (names: readonly string[], { ownerId }: FileQuery, signal: AbortSignal) => {
    const files = new Map(names.flatMap((name) => known.get(name) ?? []).map((file) => [file.name, file]));
    const others = names.filter((name) => !files.has(name) && !removed.has(name));
    for (const [name, file] of await filesOf(others, signal, ownerId)) {
      if (removed.has(name)) continue;
      known.set(name, file);
      files.set(name, file);
    }
    return files;
  };
  const removeFromList = async (file: CloudFile, signal: AbortSignal): Promise<void> => {
    const { ownerId, projectSlug, createdAt, id } = file;
    const sql = `DELETE FROM ${rowsEverywhere(list)} WHERE owner_id = ${textLiteral(ownerId)}
      AND project_slug = ${textLiteral(projectSlug)} AND created_at = ${timeLiteral(createdAt)} AND id = ${textLiteral(id)}
      ${deleteSettings}`;
    await db.command({ sql, signal, home });
  };
  const note = (file: CloudFile): void => {
    known.set(file.name, file);
    lookup.made(file.name);
  };
  return {
    announce() {
      announced++;
      let over = false;
      return () => {
        if (!over) announced--;
        over = true;
      };
    },
    async insert(file, signal) {
      const { line, listed } = fileRow(file);
      await groupCommit.write({
        table,
        columns: fileColumns,
        lines: line,
        // an upload that ends in between is not listed, because the file itself is not there
        before: { table: list, columns: fileListColumns, lines: listed },
        home,
        account: file.ownerId,
        proof: `SELECT 1 FROM ${table} WHERE name = ${textLiteral(file.name)} LIMIT 1`,
        signal,
      });
      note(file);
    },
    async insertRows(rows) {
      onInsert?.(rows.length);
      const listed = Buffer.concat(rows.map((row) => row.listed));
      await db.insert({ table: list, columns: fileListColumns, lines: listed, home });
      const lines = Buffer.concat(rows.map(({ line }) => line));
      await db.insert({ table, columns: fileColumns, lines, home });
    },
    remember: note,
    async findByName(name, signal) {
      const cached = counts.count(known.get(name));
      if (cached !== undefined) return cached;
      if (removed.has(name)) return null;
      const file = await lookup.find(name, signal);
      if (file === null || removed.has(name)) return null;
      known.set(name, file);
      return file;
    },
    async namesWithRow(names, signal) {
      if (names.length === 0) return new Set();
      const rows = await db.rows<{ name: string }>({
        sql: `SELECT name FROM ${table} WHERE name IN (${names.map(textLiteral).join(', ')})`,
        signal,
        home,
      });
      return new Set(rows.map(({ name }) => name));
    },
    async madeBetween(after, before, limit, signal) {
      const rows = await db.rows<Row>({
        sql: `SELECT ${selection} FROM ${table}
         WHERE created_at >= ${timeLiteral(after)} AND created_at < ${timeLiteral(before)}
         ORDER BY created_at DESC LIMIT ${limit}`,
        signal,
        home,
      });
      return rows.map(fileOf);
    },
    list(query, signal) {
      return listFiles(
        { db, table: list, home, filesOf: (names) => listed(names, query, signal) },
        query,
        signal,
      );
    },
    async usedBy(ownerId, signal) {
      const sql = `SELECT toFloat64(count()) AS files, toFloat64(sum(size)) AS bytes FROM ${table}
         WHERE owner_id = ${textLiteral(ownerId)}`;
      const [row] = await db.rows<StorageUse>({ sql, signal, home });
      return row ?? { files: 0, bytes: 0 };
    },
    async remove(name, signal) {
      const file = (await filesOf([name], signal)).get(name);
      removed.set(name, true);
      known.delete(name);
      try {
        const sql = `DELETE FROM ${rowsEverywhere(table)} WHERE name = ${textLiteral(name)} ${deleteSettings}`;
        await db.command({ sql, signal, home });
        if (file !== undefined) await removeFromList(file, signal);
      } catch (error) {
        // who tries again has to find it
        removed.delete(name);
        throw error;
      }
    },
  };
}

function fileOf(row: Row): CloudFile {
  return {
    id: row.id,
    name: row.name,
    originalName: row.original_name,
    ownerId: row.owner_id,
    projectSlug: row.project_slug,
    objectKey: row.object_key,
    contentType: row.content_type,
    size: row.bytes,
    crc32: row.crc32,
    createdAt: new Date(row.created),
    updatedAt: new Date(row.updated),
  };
}
