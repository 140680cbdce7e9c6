import type { Invalidation } from '#coordination/redis/invalidation.ts';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { IdFilter } from '#engine/id-filter.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Pace } from '#engine/statement-queues.ts';
import type { Log } from '#kernel/log/log.ts';
import { type Metrics, unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { type CloudFile, type FileChange, isPublished, type StorageUse } from './cloud-file.ts';
import { countFiles, type FileQuery, listFiles } from './file-list.ts';
import { type FileRow, fileRow, tableRows } from './file-row.ts';
import { FileRowCache } from './file-row-cache.ts';
import { type DigestQuery, type DueQuery, FileStatements, type StateQuery } from './file-statements.ts';
import { type FilePlace, FolderIndex, type FolderOf, placeKey } from './folder-index.ts';
import { NameBatcher } from './name-batcher.ts';

export interface CloudFiles {
  /**
   * Announces a row, so that an INSERT waits for it a little. Call the returned function when the row is stored or
   * given up.
   */
  announce(): () => void;
  /**
   * Resolves when the row is durable. After a rejection it may still appear, if the engine had begun to insert it.
   */
  insert(file: CloudFile, signal: AbortSignal, options?: InsertOptions): Promise<void>;
  /** A file that is published: not in the trash, not expired, not held back by a scanner. */
  findByName(name: string, signal: AbortSignal): Promise<CloudFile | null>;
  /** The same, whether or not it is published. */
  findAny(name: string, signal: AbortSignal): Promise<CloudFile | null>;
  /** The newest published file of a path; where other processes write, it may be as of a second ago. */
  findInFolder(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null>;
  /** The same as of now. */
  currentInFolder(place: FilePlace, signal: AbortSignal): Promise<CloudFile | null>;
  /** Whose a folder is that has any file, published or not; null: it has none. */
  ownerOfFolder(folder: string, signal: AbortSignal): Promise<FolderOf | null>;
  /**
   * Published files of folders whose path has a newer one, of the paths that got a file between two times. Files stored or
   * published later do not count.
   */
  replacedBetween(
    after: Date,
    before: Date,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly CloudFile[]>;
  /** Files whose names begin with one of the prefixes, whether or not they are published. */
  findByPrefixes(prefixes: readonly string[], signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** The names that have a row. @param names at most a few thousand */
  namesWithRow(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Rows created between two times, newest first. */
  madeBetween(after: Date, before: Date, limit: number, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** Files in this state of all accounts, in no order. */
  withState(query: StateQuery, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** Files whose time is over, by the clock of the engine as well, in the order of their names. */
  findDue(query: DueQuery, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** A page of the files of a project, newest first unless the query says otherwise. */
  list(query: FileQuery, signal: AbortSignal): Promise<readonly CloudFile[]>;
  /** Number of files that match the query. */
  count(query: FileQuery, signal: AbortSignal): Promise<number>;
  /** Any published file of a project with this SHA-256. */
  findByDigest(query: DigestQuery, signal: AbortSignal): Promise<CloudFile | null>;
  /** Number and total size of an account's files with durable rows, whether or not they are published. */
  usedBy(ownerId: string, signal: AbortSignal): Promise<StorageUse>;
  /** Changes the rows that there are. Resolves once this process no longer shows the files as they were. */
  change(names: readonly string[], change: FileChange, signal: AbortSignal): Promise<void>;
  /**
   * Removes the row of a file whose object is gone. From then on this process does not find the file.
   * @returns whether there was a row
   */
  remove(name: string, signal: AbortSignal): Promise<boolean>;
  /** Removes all rows of an account that is closed, so that nobody asks for its files. */
  removeOwner(ownerId: string, signal: AbortSignal): Promise<void>;
}

/** Rejects if a file may not take the path of the one that is there. @param there null: it is free */
export type MayTake = (there: CloudFile | null) => Promise<void>;

export interface InsertOptions {
  /** Of a file elsewhere: webhooks are not called. */
  readonly isCopy?: boolean | undefined;
  /** Of a file in a folder; absent: it may only take a free path. */
  readonly mayTake?: MayTake | undefined;
}

/** Limits of rows that wait to be stored, and of one INSERT. Bytes. */
const pendingLimit = 64 * 1024 * 1024;
const insertLimit = 4 * 1024 * 1024;
/** How long an INSERT waits for announced rows. Milliseconds (docs/decisions/009-rows-of-small-files.md). */
const gatherWait = 6;

/** The table itself, for `LoggedFiles`, which writes rows to a log first. */
export interface FileTable extends CloudFiles {
  /** Stores rows as one block, all or none. The name of each must be new. */
  insertRows(rows: readonly FileRow[]): Promise<void>;
  /** Caches a file that the table has. */
  remember(file: CloudFile): void;
  /** Forgets what was at the path of a file that is stored. */
  placed(file: CloudFile): void;
  /** A Bloom filter of the names in the table. Only for a single process, which adds each name before it is stored. */
  openFilter(log: Pick<Log, 'warn'>): IdFilter;
}

/**
 * @param args.database name of the database that holds the metadata tables
 * @param args.singleWriter no other process changes files @param args.invalidation announces changes by others
 */
export function createCloudFiles({
  db,
  database,
  singleWriter = false,
  metrics = unmeasured,
  pace,
  invalidation,
}: {
  db: Database;
  database: string;
  singleWriter?: boolean;
  metrics?: Pick<Metrics, 'cache' | 'batch'>;
  pace?: Pace | undefined;
  invalidation?: Invalidation | undefined;
}): FileTable {
  const statements = new FileStatements(db, database);
  const cache = new FileRowCache({ statements, singleWriter, metrics, invalidation });
  const folders = openFolders(statements, cache, singleWriter);
  const removals = new NameBatcher((names, signal) => statements.delete(names, signal));
  const announced = new RowAnnouncements();
  const onInsert = metrics.batch('file_inserts');
  // an INSERT costs milliseconds and a part, however few its rows: uploads that end together share one
  const gather = { expected: () => announced.count, wait: gatherWait };
  const groupCommit = new GroupCommit({ db, pendingLimit, insertLimit, gather, pace, onStatement: onInsert });
  const remember = (file: CloudFile): void => {
    cache.note(file);
    folders.note(file);
  };
  const { table, list, home } = statements;
  return {
    announce: () => announced.add(),
    async insert(file, signal) {
      // all columns, however few it needs: an INSERT only has rows of the same ones
      const row = tableRows([fileRow(file)], true);
      await groupCommit.write({
        ...{ table, ...row.files },
        // if only this row is written, the file is not shown: listing looks up the row of the file itself
        before: { table: list, ...row.list },
        home,
        account: file.ownerId,
        proof: `SELECT 1 FROM ${table} WHERE name = ${textLiteral(file.name)} LIMIT 1`,
        signal,
      });
      remember(file);
    },
    async insertRows(rows) {
      onInsert?.(rows.length);
      await statements.insert(rows);
    },
    remember,
    ...inFolders(folders),
    ...asTheTableSays(statements),
    ...lists(db, statements, cache),
    openFilter: (log) => new IdFilter({ db, table, id: 'name', what: 'files', log }),
    findByName: async (name, signal) => published(await cache.find(name, signal)),
    findAny: (name, signal) => cache.find(name, signal),
    change: (names, change, signal) => cache.changing(names, () => statements.change(names, change, signal)),
    remove: (name, signal) => cache.removing(name, async () => (await removals.run(name, signal)).has(name)),
  };
}

/** What no cache answers. */
function asTheTableSays(statements: FileStatements) {
  return {
    findByPrefixes: (prefixes, signal) => statements.byPrefixes(prefixes, signal),
    namesWithRow: (names, signal) => statements.namesWithRow(names, signal),
    madeBetween: (after, before, limit, signal) => statements.madeBetween(after, before, limit, signal),
    replacedBetween: (after, before, limit, signal) =>
      statements.replacedBetween(after, before, limit, signal),
    withState: (query, signal) => statements.withState(query, signal),
    findDue: (query, signal) => statements.due(query, signal),
    findByDigest: (query, signal) => statements.byDigest(query, signal),
    usedBy: (ownerId, signal) => statements.usedBy(ownerId, signal),
    removeOwner: (ownerId, signal) => statements.deleteOwner(ownerId, signal),
  } satisfies Partial<FileTable>;
}

function lists(db: Database, statements: FileStatements, cache: FileRowCache) {
  const { table: files, list: table, home } = statements;
  return {
    list(query, signal) {
      const filesOf = (names: readonly string[]) => cache.findAll(names, query.ownerId, signal);
      return listFiles({ db, table, files, home, filesOf }, query, signal);
    },
    count: (query, signal) => countFiles({ db, table, files, home }, query, signal),
  } satisfies Partial<FileTable>;
}

function openFolders(
  statements: Pick<FileStatements, 'byPlaces' | 'ownerOfFolder'>,
  cache: FileRowCache,
  singleWriter: boolean,
): FolderIndex {
  return new FolderIndex({
    byPlaces: async (places, signal) => {
      const files = await cache.found(() => statements.byPlaces(places, signal));
      return new Map(files.map((file) => [placeKey(file as FilePlace), file]));
    },
    byName: async (name, signal) => published(await cache.find(name, signal)),
    ownerOfFolder: (folder, signal) => statements.ownerOfFolder(folder, signal),
    singleWriter,
  });
}

function inFolders(
  folders: FolderIndex,
): Pick<FileTable, 'placed' | 'findInFolder' | 'currentInFolder' | 'ownerOfFolder'> {
  return {
    placed: (file) => folders.note(file),
    findInFolder: (place, signal) => folders.find(place, signal),
    currentInFolder: (place, signal) => folders.current(place, signal),
    ownerOfFolder: (folder, signal) => folders.ownerOf(folder, signal),
  };
}

/** Null: there is none, or it is not shown. */
export function published(file: CloudFile | null | undefined): CloudFile | null {
  return file && isPublished(file) ? file : null;
}

/** Counts rows that will be inserted soon. */
class RowAnnouncements {
  count = 0;

  /** @returns ends the announcement; a second call does nothing */
  add(): () => void {
    this.count++;
    let over = false;
    return () => {
      if (!over) this.count--;
      over = true;
    };
  }
}
