import { randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { textLiteral } from '#engine/literal.ts';
import { rowLine } from '#kernel/ids/row-values.ts';
import {
  decidedWithin,
  type FileDrop,
  type FilesPlace,
  type FileUse,
  markedFor,
  type PlacedFile,
  type RecordPlace,
  type StoredUse,
  youngFor,
} from './file-use.ts';

const pendingLimit = 64 * 1024 * 1024;
const insertLimit = 4 * 1024 * 1024;
const useColumns = ['owner_id', 'project_slug', 'space', 'record', 'name', 'owns'];
const dropColumns = ['kind', 'name', 'owner_id', 'project_slug', 'space', 'record', 'token'];
/** Rows of one INSERT, and of one answer. */
export const usesAtOnce = 1000;
/** Otherwise a DELETE is a mutation, which waits for merges. */
const deleteSettings = `SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;
const home = 'file_uses';

interface UseRow extends RecordPlace {
  readonly name: string;
  readonly owns: number;
  readonly young: number;
}

/** A file that no record may get: it is to be deleted, is being decided about, or was deleted a moment ago. */
interface MarkedFile {
  readonly name: string;
  readonly kind: 'gone' | 'mark' | 'past';
}

/**
 * The tables `file_uses` and `file_drops` (docs/decisions/074-a-file-field.md). Rows of the second are of five kinds: `drop`
 * of a record or a space whose uses may have ended; `mark` of a file that somebody is deciding about, and `empty` of one that
 * leaves the trash for good; `gone` for a file that is to be deleted; `past` for a file that was deleted a moment ago.
 */
export class FileUses {
  readonly #db: Database;
  readonly #uses: string;
  readonly #drops: string;
  readonly #commit: GroupCommit;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#uses = `${database}.file_uses`;
    this.#drops = `${database}.file_drops`;
    this.#commit = new GroupCommit({ db, pendingLimit, insertLimit });
  }

  /** Resolves when the uses are durable: only then may their records be stored. */
  async add(place: FilesPlace, uses: readonly FileUse[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < uses.length; from += usesAtOnce) {
      const some = uses.slice(from, from + usesAtOnce);
      const first = some[0] as FileUse;
      const lines = some.map(({ space, record, name, owns }) =>
        rowLine([place.ownerId, place.slug, space, record, name, owns ? 1 : 0]),
      );
      await this.#commit.write({
        table: this.#uses,
        columns: useColumns,
        lines: Buffer.concat(lines),
        home,
        account: place.ownerId,
        proof: `SELECT 1 FROM ${this.#uses} WHERE ${among(place, [first])} AND name = ${textLiteral(first.name)} LIMIT 1`,
        signal,
      });
    }
  }

  /** Resolves when the drops are durable: only then may a write end uses. */
  async drop(
    place: FilesPlace,
    places: readonly (Pick<RecordPlace, 'space'> & { readonly record: string | null })[],
    signal: AbortSignal,
  ): Promise<readonly FileDrop[]> {
    const drops = places.map(({ space, record }) => ({ place, space, record, token: randomUUID() }));
    for (let from = 0; from < drops.length; from += usesAtOnce) {
      const some = drops.slice(from, from + usesAtOnce);
      const lines = some.map(({ space, record, token }) =>
        rowLine(['drop', '', place.ownerId, place.slug, space, record ?? '', token]),
      );
      await this.#commit.write({
        table: this.#drops,
        columns: dropColumns,
        lines: Buffer.concat(lines),
        home,
        account: place.ownerId,
        proof: `SELECT 1 FROM ${this.#drops} WHERE kind = 'drop' AND token = ${textLiteral((some[0] as FileDrop).token)} LIMIT 1`,
        signal,
      });
    }
    return drops;
  }

  /** Drops of processes that did not work them off. @param which `all`: no other process is running */
  async oldDrops(limit: number, which: 'old' | 'all', signal: AbortSignal): Promise<readonly FileDrop[]> {
    interface Row extends RecordPlace, FilesPlace {
      readonly token: string;
    }
    const sql = `SELECT owner_id AS ownerId, project_slug AS slug, space, record, token FROM ${this.#drops}
      WHERE kind = 'drop' AND ${which === 'all' ? '1' : olderThan(youngFor)} ORDER BY at LIMIT ${limit}`;
    const rows = await this.#db.rows<Row>({ sql, signal, home });
    return rows.map(({ ownerId, slug, space, record, token }) => ({
      place: { ownerId, slug },
      space,
      record: record || null,
      token,
    }));
  }

  async workedOff(drops: readonly FileDrop[], signal: AbortSignal): Promise<void> {
    await this.#delete(
      this.#drops,
      `kind = 'drop' AND ${isAmong(
        'token',
        drops.map(({ token }) => token),
      )}`,
      signal,
    );
  }

  /** Uses by some records of a space. */
  ofRecords(
    place: FilesPlace,
    space: string,
    records: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly StoredUse[]> {
    const where = `${inPlace(place)} AND space = ${textLiteral(space)} AND ${isAmong('record', records)}`;
    return this.#read(`${where}`, signal);
  }

  /** A page of the uses by all records of a space. @param after the last record and name of the page before */
  ofSpace(
    place: FilesPlace,
    space: string,
    after: Pick<FileUse, 'record' | 'name'>,
    signal: AbortSignal,
  ): Promise<readonly StoredUse[]> {
    const later = `(record, name) > (${textLiteral(after.record)}, ${textLiteral(after.name)})`;
    const where = `${inPlace(place)} AND space = ${textLiteral(space)} AND ${later}`;
    return this.#read(`${where} ORDER BY record, name LIMIT ${usesAtOnce}`, signal);
  }

  /** A page of the uses of files, by name, space and record. */
  ofNames(
    place: FilesPlace,
    names: readonly string[],
    after: Pick<FileUse, 'name' | 'space' | 'record'> | null,
    signal: AbortSignal,
  ): Promise<readonly StoredUse[]> {
    const later =
      after === null
        ? '1'
        : `(name, space, record) > (${[after.name, after.space, after.record].map(textLiteral).join(', ')})`;
    const where = `${inPlace(place)} AND ${isAmong('name', names)} AND ${later}`;
    return this.#read(`${where} ORDER BY name, space, record LIMIT ${usesAtOnce}`, signal);
  }

  /** The names that records use, or used: among them may be uses that have ended. @returns with a few records of each */
  async inUse(
    place: FilesPlace,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly RecordPlace[]>> {
    const sql = `SELECT DISTINCT name, space, record FROM ${this.#uses}
      WHERE ${inPlace(place)} AND ${isAmong('name', names)} LIMIT 100 BY name`;
    const rows = await this.#db.rows<RecordPlace & { name: string }>({ sql, signal, home });
    const places = new Map<string, RecordPlace[]>();
    for (const { name, space, record } of rows) {
      const some = places.get(name);
      if (some === undefined) places.set(name, [{ space, record }]);
      else some.push({ space, record });
    }
    return places;
  }

  async end(place: FilesPlace, uses: readonly FileUse[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < uses.length; from += usesAtOnce) {
      const some = uses.slice(from, from + usesAtOnce);
      const spaces = some.map(({ space }) => space);
      const records = some.map(({ record }) => record);
      const keys = some.map(
        ({ space, record, name }) => `(${[space, record, name].map(textLiteral).join(', ')})`,
      );
      const narrow = `${isAmong('space', spaces)} AND ${isAmong('record', records)}`;
      const where = `${inPlace(place)} AND ${narrow} AND (space, record, name) IN (${keys.join(', ')})`;
      await this.#delete(this.#uses, where, signal);
    }
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
    await this.#delete(this.#drops, where, signal);
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
    await this.#delete(this.#drops, where, signal);
  }

  /** Removes marks that no longer hold. */
  async removeOldMarks(signal: AbortSignal): Promise<void> {
    const where = `kind IN ('mark', 'empty', 'past') AND ${olderThan(2 * markedFor)}`;
    const sql = `SELECT 1 FROM ${this.#drops} WHERE ${where} LIMIT 1`;
    if ((await this.#db.rows({ sql, signal, home })).length > 0)
      await this.#delete(this.#drops, where, signal);
  }

  /** Removes all rows of a deleted account. */
  async removeOwner(ownerId: string, signal: AbortSignal): Promise<void> {
    const where = `owner_id = ${textLiteral(ownerId)}`;
    for (const table of [this.#uses, this.#drops]) await this.#delete(table, where, signal);
  }

  async #read(tail: string, signal: AbortSignal): Promise<readonly StoredUse[]> {
    const sql = `SELECT space, record, name, owns, toUInt8(NOT ${olderThan(youngFor)}) AS young FROM ${this.#uses}
      WHERE ${tail}`;
    const rows = await this.#db.rows<UseRow>({ sql, signal, home });
    return rows.map(({ space, record, name, owns, young }) => ({
      space,
      record,
      name,
      owns: owns === 1,
      isYoung: young === 1,
    }));
  }

  async #delete(table: string, where: string, signal: AbortSignal): Promise<void> {
    await this.#db.command({ sql: `DELETE FROM ${table} WHERE ${where} ${deleteSettings}`, signal, home });
  }
}

function inPlace({ ownerId, slug }: FilesPlace): string {
  return `owner_id = ${textLiteral(ownerId)} AND project_slug = ${textLiteral(slug)}`;
}

function among(place: FilesPlace, [{ space, record }]: readonly [RecordPlace]): string {
  return `${inPlace(place)} AND space = ${textLiteral(space)} AND record = ${textLiteral(record)}`;
}

function isAmong(column: string, texts: readonly string[]): string {
  return texts.length === 0 ? '0' : `${column} IN (${[...new Set(texts)].map(textLiteral).join(', ')})`;
}

/** By the clock of the engine. @param seconds of age */
function olderThan(seconds: number): string {
  return `(at < now64(3) - INTERVAL ${seconds} SECOND)`;
}
