import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { RuledFile } from './file-rules/file-test.ts';

interface FilesPlace {
  readonly ownerId: string;
  readonly slug: string;
}

/** A file with what answers have of it. */
export interface ProjectFile extends RuledFile {
  /** Pixels, as shown; absent: not a picture or video, or not known. */
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Seconds; absent: neither video nor sound, or not known. */
  readonly duration?: number | undefined;
}

/** The facts about the files of a project, for services that do not store them. */
export interface ProjectFiles {
  newest(project: FilesPlace, limit: number, signal: AbortSignal): Promise<readonly RuledFile[]>;
  /** Whether there are any, also in the trash or held back by a scanner. */
  hasAny(project: FilesPlace, signal: AbortSignal): Promise<boolean>;
  /** Whether there is such a file that is not shown: in the trash, expired, or held back by a scanner. */
  isHidden(project: FilesPlace, name: string, signal: AbortSignal): Promise<boolean>;
  /** The files among the names. */
  named(project: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<readonly ProjectFile[]>;
  /** The names that have a file, whatever caches say. */
  stored(project: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Deletes files that no record names any more, soon (file-uses/). Absent: another process does it, within minutes. */
  readonly deleteCondemned?: () => void;
}

interface Row extends Omit<RuledFile, 'createdAt' | 'owner' | 'folder'> {
  readonly owner: string;
  readonly folder: string;
  readonly created: number;
  /** 0: not known. */
  readonly width: number;
  readonly height: number;
  readonly duration: number;
}

/** Reads the table of files. */
export class TableFiles implements ProjectFiles {
  readonly #db: Database;
  readonly #table: string;

  constructor(db: Database, database: string) {
    this.#db = db;
    this.#table = `${database}.cloud_files`;
  }

  newest(project: FilesPlace, limit: number, signal: AbortSignal): Promise<readonly RuledFile[]> {
    return this.#read(project, `1 ORDER BY created_at DESC LIMIT ${limit}`, signal);
  }

  async hasAny({ ownerId, slug }: FilesPlace, signal: AbortSignal): Promise<boolean> {
    const sql = `SELECT 1 FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}
      AND project_slug = ${textLiteral(slug)} AND (expires_at = 0 OR expires_at > ${Date.now()}) LIMIT 1`;
    return (await this.#db.rows({ sql, signal, home: 'cloud_files' })).length > 0;
  }

  async isHidden({ ownerId, slug }: FilesPlace, name: string, signal: AbortSignal): Promise<boolean> {
    const sql = `SELECT 1 FROM ${this.#table} WHERE name = ${textLiteral(name)} AND owner_id = ${textLiteral(ownerId)}
      AND project_slug = ${textLiteral(slug)}
      AND (trashed_at > 0 OR state != '' OR (expires_at > 0 AND expires_at <= ${Date.now()})) LIMIT 1`;
    return (await this.#db.rows({ sql, signal, home: 'cloud_files', account: ownerId })).length > 0;
  }

  async named(
    project: FilesPlace,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly ProjectFile[]> {
    if (names.length === 0) return [];
    return this.#read(project, `name IN (${names.map(textLiteral).join(', ')})`, signal);
  }

  async stored(
    project: FilesPlace,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    return new Set((await this.named(project, names, signal)).map(({ name }) => name));
  }

  async #read(
    { ownerId, slug }: FilesPlace,
    more: string,
    signal: AbortSignal,
  ): Promise<readonly ProjectFile[]> {
    const sql = `SELECT id, name, original_name AS originalName, content_type AS contentType, owner, folder,
      width, height, duration, toFloat64(size) AS size, toFloat64(toUnixTimestamp64Milli(created_at)) AS created FROM ${this.#table}
      WHERE owner_id = ${textLiteral(ownerId)} AND project_slug = ${textLiteral(slug)}
      AND trashed_at = 0 AND state = '' AND (expires_at = 0 OR expires_at > ${Date.now()}) AND ${more}`;
    const rows = await this.#db.rows<Row>({ sql, signal, home: 'cloud_files', account: ownerId });
    return rows.map(({ owner, folder, created, width, height, duration, ...file }) => ({
      ...file,
      ...(folder === '' ? {} : { folder }),
      ...(width === 0 ? {} : { width, height }),
      ...(duration === 0 ? {} : { duration }),
      ...(owner === '' ? {} : { owner }),
      createdAt: new Date(created),
    }));
  }
}
