import type { FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { conditionSql } from '#catalogue/file-rules/file-sql.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { CloudFile, FileChange, HiddenState, StorageUse } from './cloud-file.ts';
import { hiddenSql, timeLiteral } from './file-list.ts';
import { type FileRow, tableRows } from './file-row.ts';
import type { FilePlace, FolderOf } from './folder-index.ts';
import { fileOf, type SelectedFile, selection } from './selected-file.ts';

/** A query for files of all accounts. */
export interface StateQuery {
  readonly state: HiddenState;
  /** Created earlier. */
  readonly before: Date;
  /** Most bytes of a file. */
  readonly largest?: number;
  readonly limit: number;
  /** Most files of an account. */
  readonly perOwner: number;
}

/** A query for a file of a project. */
export interface DigestQuery extends Pick<CloudFile, 'ownerId' | 'projectSlug'> {
  readonly sha256: string;
  /** By rules, without variables. */
  readonly condition?: FileCondition | undefined;
}

/** A query for files that have expired, or have been in the trash for long. */
export interface DueQuery {
  /** The own clock. Milliseconds since 1970. */
  readonly now: number;
  /** How long their time has been over, at least. Milliseconds. */
  readonly grace: number;
  /** How long files stay in the trash. Milliseconds. */
  readonly trashedFor: number;
  readonly limit: number;
  /** The last name of the page before. */
  readonly after?: string | undefined;
  /** Only these. */
  readonly names?: readonly string[] | undefined;
}

/** Otherwise a DELETE is a mutation, which waits for merges. */
const deleteSettings = `SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;

/** The statements on cloud_files, and on file_list, which is sorted by project. */
export class FileStatements {
  readonly table: string;
  readonly list: string;
  /** The key by which reads stick to one of several servers. */
  readonly home = 'cloud_files';
  readonly #db: Database;

  /** @param database name of the database that holds the metadata tables */
  constructor(db: Database, database: string) {
    this.#db = db;
    this.table = `${database}.cloud_files`;
    this.list = `${database}.file_list`;
  }

  /** @param account the account whose share of the engine it takes; absent: no account's */
  async byNames(
    names: readonly string[],
    signal: AbortSignal,
    account?: string,
  ): Promise<Map<string, CloudFile>> {
    if (names.length === 0) return new Map();
    const sql = `SELECT ${selection} FROM ${this.table} WHERE ${isAmong(names)}`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home, account });
    return new Map(rows.map((row) => [row.name, fileOf(row)]));
  }

  async byPrefixes(prefixes: readonly string[], signal: AbortSignal): Promise<readonly CloudFile[]> {
    const among = prefixes.map((prefix) => `startsWith(name, ${textLiteral(prefix)})`).join(' OR ');
    const sql = `SELECT ${selection} FROM ${this.table} WHERE ${among} ORDER BY created_at DESC`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  async namesWithRow(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (names.length === 0) return new Set();
    const sql = `SELECT name FROM ${this.table} WHERE ${isAmong(names)}`;
    const rows = await this.#db.rows<{ name: string }>({ sql, signal, home: this.home });
    return new Set(rows.map(({ name }) => name));
  }

  async madeBetween(
    after: Date,
    before: Date,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly CloudFile[]> {
    const sql = `SELECT ${selection} FROM ${this.table}
      WHERE created_at >= ${timeLiteral(after)} AND created_at < ${timeLiteral(before)}
      ORDER BY created_at DESC LIMIT ${limit}`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  /** Published files at some places; of those at one, the newest last. */
  async byPlaces(places: readonly FilePlace[], signal: AbortSignal): Promise<readonly CloudFile[]> {
    const sql = `SELECT ${selection} FROM ${this.table} WHERE ${arePlaced(places)} AND ${hiddenSql(undefined)}
      ORDER BY created_at, id`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  /** Null: no file is in the folder. */
  async ownerOfFolder(folder: string, signal: AbortSignal): Promise<FolderOf | null> {
    const sql = `SELECT folder, owner_id AS ownerId, project_slug AS projectSlug FROM ${this.table}
      WHERE folder = ${textLiteral(folder)} LIMIT 1`;
    const [row] = await this.#db.rows<FolderOf>({ sql, signal, home: this.home });
    return row ?? null;
  }

  /**
   * Published files of folders whose path has a newer one, of the paths that got a file between two times. Files that were
   * stored or published later do not count: those that they replace are in use for a moment.
   */
  async replacedBetween(
    after: Date,
    before: Date,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly CloudFile[]> {
    const shown = `folder != '' AND updated_at < ${timeLiteral(before)} AND ${hiddenSql(undefined)}`;
    // hashes take little memory, whatever the number of paths
    const hash = 'sipHash64(folder, path)';
    const from = `FROM ${this.table} WHERE ${shown}`;
    const recent = `SELECT ${hash} ${from} AND updated_at >= ${timeLiteral(after)}`;
    const several = `SELECT ${hash} AS place ${from} AND ${hash} IN (${recent})
      GROUP BY place HAVING count() > 1 LIMIT ${limit}`;
    const newest = `SELECT argMax(id, (created_at, id)) ${from} AND ${hash} IN (${several}) GROUP BY folder, path`;
    const sql = `SELECT ${selection} ${from} AND ${hash} IN (${several}) AND id NOT IN (${newest}) LIMIT ${limit}`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  /** In another order each time, so that none keeps others from its place. */
  async withState(
    { state, before, largest, limit, perOwner }: StateQuery,
    signal: AbortSignal,
  ): Promise<readonly CloudFile[]> {
    const sql = `SELECT ${selection} FROM ${this.table}
      WHERE state = ${textLiteral(state)} AND created_at < ${timeLiteral(before)}
      ${largest === undefined ? '' : `AND size <= ${largest}`}
      ORDER BY rand() LIMIT ${perOwner} BY owner_id LIMIT ${limit}`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  async due(
    { now, grace, trashedFor, limit, after = '', names }: DueQuery,
    signal: AbortSignal,
  ): Promise<readonly CloudFile[]> {
    const clock = `least(toUnixTimestamp64Milli(now64(3)), ${now}) - ${grace}`;
    const sql = `WITH ${clock} AS clock SELECT ${selection} FROM ${this.table}
      WHERE ((expires_at > 0 AND expires_at <= clock) OR (trashed_at > 0 AND trashed_at + ${trashedFor} <= clock))
      AND name > ${textLiteral(after)} ${names === undefined ? '' : `AND ${isAmong(names)}`}
      ORDER BY name LIMIT ${limit}`;
    const rows = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home });
    return rows.map(fileOf);
  }

  async byDigest(
    { ownerId, projectSlug, sha256, condition }: DigestQuery,
    signal: AbortSignal,
  ): Promise<CloudFile | null> {
    const sql = `SELECT ${selection} FROM ${this.table} WHERE sha256 = ${textLiteral(sha256)}
      AND owner_id = ${textLiteral(ownerId)} AND project_slug = ${textLiteral(projectSlug)}
      AND ${hiddenSql(undefined)}
      ${condition === undefined ? '' : `AND (${conditionSql(condition)})`} LIMIT 1`;
    const [row] = await this.#db.rows<SelectedFile>({ sql, signal, home: this.home, account: ownerId });
    return row === undefined ? null : fileOf(row);
  }

  async usedBy(ownerId: string, signal: AbortSignal): Promise<StorageUse> {
    const sql = `SELECT toFloat64(count()) AS files, toFloat64(sum(size)) AS bytes FROM ${this.table}
      WHERE owner_id = ${textLiteral(ownerId)}`;
    const [row] = await this.#db.rows<StorageUse>({ sql, signal, home: this.home });
    return row ?? { files: 0, bytes: 0 };
  }

  /**
   * Inserts all rows or none. file_list comes first, as in the group commit: a row that only the list has is not shown.
   */
  async insert(rows: readonly FileRow[]): Promise<void> {
    const { home } = this;
    const { files, list } = tableRows(rows);
    await this.#db.insert({ table: this.list, ...list, home });
    await this.#db.insert({ table: this.table, ...files, home });
  }

  /** @returns the names that had a row */
  async delete(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const files = await this.byNames(names, signal);
    if (files.size === 0) return new Set();
    const found = [...files.keys()];
    await this.#deleteFrom(this.table, isAmong(found), signal);
    await this.#deleteFrom(this.list, areListed([...files.values()]), signal);
    return new Set(found);
  }

  /**
   * Changes the rows that there are. A change that hides files begins with the rows that decide, and one that shows them
   * ends with them: whenever it is cut off, a file that is shown is in its list.
   */
  async change(names: readonly string[], change: FileChange, signal: AbortSignal): Promise<void> {
    const files = await this.byNames(names, signal);
    if (files.size === 0) return;
    const sets = changeSql(change);
    // the janitor looks for what a file replaced since it was published
    const more = change.state === null ? ', updated_at = now64(3)' : '';
    const updates = [
      () => this.#update(this.table, sets + more, isAmong([...files.keys()]), signal),
      () => this.#update(this.list, sets, areListed([...files.values()]), signal),
    ];
    for (const update of hides(change) ? updates : updates.reverse()) await update();
  }

  async #update(table: string, sets: string, where: string, signal: AbortSignal): Promise<void> {
    await this.#db.command({ sql: `UPDATE ${table} SET ${sets} WHERE ${where}`, signal, home: this.home });
  }

  async deleteOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    for (const table of [this.table, this.list])
      await this.#deleteFrom(table, `owner_id = ${textLiteral(ownerId)}`, signal);
  }

  async #deleteFrom(table: string, where: string, signal: AbortSignal): Promise<void> {
    const sql = `DELETE FROM ${table} WHERE ${where} ${deleteSettings}`;
    await this.#db.command({ sql, signal, home: this.home });
  }
}

function hides({ trashedAt, state }: FileChange): boolean {
  return (trashedAt ?? state ?? null) !== null;
}

function changeSql({ trashedAt, state }: FileChange): string {
  const sets = [];
  if (trashedAt !== undefined) sets.push(`trashed_at = ${trashedAt?.getTime() ?? 0}`);
  if (state !== undefined) sets.push(`state = ${textLiteral(state ?? '')}`);
  return sets.join(', ');
}

/** The index of each column skips most of the table; the pairs decide. */
function arePlaced(places: readonly FilePlace[]): string {
  const among = (texts: readonly string[]): string => [...new Set(texts)].map(textLiteral).join(', ');
  const pairs = places.map(({ folder, path }) => `(${textLiteral(folder)}, ${textLiteral(path)})`);
  return `folder IN (${among(places.map(({ folder }) => folder))})
    AND path IN (${among(places.map(({ path }) => path))}) AND (folder, path) IN (${pairs.join(', ')})`;
}

function isAmong(names: readonly string[]): string {
  return `name IN (${names.map(textLiteral).join(', ')})`;
}

/** Ids are unique; the other columns let the primary key find them, at a fifth of the cost of an OR for each file. */
function areListed(files: readonly CloudFile[]): string {
  const among = (column: string, literal: (file: CloudFile) => string): string =>
    `${column} IN (${[...new Set(files.map(literal))].join(', ')})`;
  return [
    among('owner_id', ({ ownerId }) => textLiteral(ownerId)),
    among('project_slug', ({ projectSlug }) => textLiteral(projectSlug)),
    among('created_at', ({ createdAt }) => timeLiteral(createdAt)),
    among('id', ({ id }) => textLiteral(id)),
  ].join(' AND ');
}
