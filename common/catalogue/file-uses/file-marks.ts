import { randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { rowLine } from '#kernel/ids/row-values.ts';
import { decidedWithin, type FilesPlace, markedFor, type PlacedFile } from './file-use.ts';
import { deleteSql, dropColumns, home, isAmong, olderThan } from './use-tables.ts';

/** A file that no record may get: it is to be deleted, is being decided about, or was deleted a moment ago. */
interface MarkedFile {
  readonly name: string;
  readonly kind: 'gone' | 'mark' | 'past';
}

/**
 * Files that are being decided about, and what was decided: rows of `file_drops` of four kinds
 * (docs/decisions/074-a-file-field.md). `mark` of a file that somebody is deciding about, and `empty` of one that leaves the
 * trash for good; `gone` for a file that is to be deleted; `past` for a file that was deleted a moment ago.
 */
export class FileMarks {
  readonly #db: Database;
  readonly #drops: string;

  /** @param args.database name of the database that holds the metadata tables */
  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#drops = `${database}.file_drops`;
  }

  /**
   * From now on, no write names the files; with `empty`, no restore takes them out of the trash.
   * @param token of whoever decides about them
   */
  mark(
    files: readonly PlacedFile[],
    token: string,
    signal: AbortSignal,
    kind: 'mark' | 'empty' = 'mark',
  ): Promise<void> {
    return this.#insert(kind, files, token, signal);
  }

  async #insert(
    kind: 'mark' | 'empty' | 'past',
    files: readonly PlacedFile[],
    token: string,
    signal: AbortSignal,
  ): Promise<void> {
    const lines = files.map(({ name, place }) =>
      rowLine([kind, name, place.ownerId, place.slug, '', '', token]),
    );
    const table = this.#drops;
    await this.#db.insert({ table, columns: dropColumns, lines: Buffer.concat(lines), home, signal });
  }

  async unmark(
    names: readonly string[],
    token: string,
    signal: AbortSignal,
    kind: 'mark' | 'empty' = 'mark',
  ): Promise<void> {
    const where = `kind = '${kind}' AND ${isAmong('name', names)} AND token = ${textLiteral(token)}`;
    await this.#delete(where, signal);
  }

  /** The names among them that are being taken out of the trash for good. */
  async emptied(names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const sql = `SELECT DISTINCT name FROM ${this.#drops}
      WHERE kind = 'empty' AND ${isAmong('name', names)} AND NOT ${olderThan(markedFor)}`;
    const rows = await this.#db.rows<{ name: string }>({ sql, signal, home });
    return new Set(rows.map(({ name }) => name));
  }

  /** The names among them that no record may get as they are, each with the reason that counts. */
  async marked(names: readonly string[], signal: AbortSignal): Promise<readonly MarkedFile[]> {
    const sql = `SELECT name, multiIf(countIf(drops.kind = 'gone') > 0, 'gone', countIf(drops.kind = 'mark') > 0, 'mark', 'past') AS kind
      FROM ${this.#drops} AS drops
      WHERE drops.kind IN ('mark', 'gone', 'past') AND ${isAmong('name', names)}
      AND (drops.kind = 'gone' OR NOT ${olderThan(markedFor)}) GROUP BY name`;
    return this.#db.rows<MarkedFile>({ sql, signal, home });
  }

  /** Files are to be deleted. Those whose mark has gone meanwhile are left. */
  async condemn(names: readonly string[], token: string, signal: AbortSignal): Promise<void> {
    const columns = dropColumns.slice(1, -1).join(', ');
    const sql = `INSERT INTO ${this.#drops} (kind, ${columns}, token)
      SELECT 'gone', ${columns}, '' FROM ${this.#drops} WHERE kind = 'mark' AND ${isAmong('name', names)}
        AND token = ${textLiteral(token)} AND NOT ${olderThan(decidedWithin)}`;
    await this.#db.command({ sql, home, signal });
  }

  /** Files that are to be deleted. */
  async condemned(limit: number, signal: AbortSignal): Promise<readonly PlacedFile[]> {
    const sql = `SELECT DISTINCT name, owner_id AS ownerId, project_slug AS slug FROM ${this.#drops}
      WHERE kind = 'gone' LIMIT ${limit}`;
    const rows = await this.#db.rows<FilesPlace & { name: string }>({ sql, signal, home });
    return rows.map(({ name, ownerId, slug }) => ({ place: { ownerId, slug }, name }));
  }

  /**
   * The files are deleted. For a while rows say so to writes that found them in a cache.
   * @param tokens whose marks go; absent: all marks of the files
   */
  async deleted(
    files: readonly PlacedFile[],
    signal: AbortSignal,
    tokens?: readonly string[],
  ): Promise<void> {
    if (files.length === 0) return;
    await this.#insert('past', files, randomUUID(), signal);
    const names = files.map(({ name }) => name);
    const marks = tokens === undefined ? '1' : isAmong('token', tokens);
    const where = `(kind = 'gone' OR (kind = 'mark' AND ${marks})) AND ${isAmong('name', names)}`;
    await this.#delete(where, signal);
  }

  /** Removes marks that no longer hold. */
  async removeOldMarks(signal: AbortSignal): Promise<void> {
    const where = `kind IN ('mark', 'empty', 'past') AND ${olderThan(2 * markedFor)}`;
    const sql = `SELECT 1 FROM ${this.#drops} WHERE ${where} LIMIT 1`;
    if ((await this.#db.rows({ sql, signal, home })).length > 0) await this.#delete(where, signal);
  }

  async #delete(where: string, signal: AbortSignal): Promise<void> {
    await this.#db.command({ sql: deleteSql(this.#drops, where), signal, home });
  }
}
