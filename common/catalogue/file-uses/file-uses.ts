import { randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { textLiteral } from '#engine/literal.ts';
import { rowLine } from '#kernel/ids/row-values.ts';
import {
  type FileDrop,
  type FilesPlace,
  type FileUse,
  type RecordPlace,
  type StoredUse,
  youngFor,
} from './file-use.ts';
import { deleteSql, dropColumns, home, isAmong, olderThan } from './use-tables.ts';

const pendingLimit = 64 * 1024 * 1024;
const insertLimit = 4 * 1024 * 1024;
const useColumns = ['owner_id', 'project_slug', 'space', 'record', 'name', 'owns'];
/** Rows of one INSERT, and of one answer. */
export const usesAtOnce = 1000;

interface UseRow extends RecordPlace {
  readonly name: string;
  readonly owns: number;
  readonly young: number;
}

/**
 * Which records use which files: the table `file_uses`, and the rows of `file_drops` that say `drop` of a record or a space
 * whose uses may have ended (docs/decisions/074-a-file-field.md).
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
    await this.#db.command({ sql: deleteSql(table, where), signal, home });
  }
}

function inPlace({ ownerId, slug }: FilesPlace): string {
  return `owner_id = ${textLiteral(ownerId)} AND project_slug = ${textLiteral(slug)}`;
}

function among(place: FilesPlace, [{ space, record }]: readonly [RecordPlace]): string {
  return `${inPlace(place)} AND space = ${textLiteral(space)} AND record = ${textLiteral(record)}`;
}
