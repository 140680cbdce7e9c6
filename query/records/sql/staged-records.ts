import { recordsTable, stageSettings } from '#catalogue/migrations/record-tables.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Field } from '../structure/field.ts';
import { allIds, type IdRange } from './id-range.ts';
import { keyWordsSql } from './record-keys.ts';
import { valueBytes } from './record-row.ts';
import type { RecordsTable, Sql } from './records-table.ts';
import { valueSql } from './value-sql.ts';

/**
 * A table of records that no read sees yet. Its parts are attached to the records table at one moment, without being written
 * again. They are never merged before: a merged part holds the numbers of its rows, by which the engine would mistake an
 * update of other rows for an update of these.
 */
export class StagedRecords {
  readonly name: string;
  readonly home: string;
  readonly #records: string;
  readonly #spaceId: string;

  /** @param id of the job */
  constructor(database: string, table: RecordsTable, spaceId: string, id: string) {
    this.name = `${database}.import_${id.replaceAll('-', '')}`;
    this.#records = `${database}.${recordsTable}`;
    this.home = table.homeOf(spaceId);
    this.#spaceId = spaceId;
  }

  create(): Sql {
    return this.#sql(
      `CREATE TABLE ${this.name} AS ${this.#records} ENGINE = MergeTree ORDER BY (space, _id) SETTINGS ${stageSettings}`,
    );
  }

  drop(): Sql {
    return this.#sql(`DROP TABLE IF EXISTS ${this.name} SYNC`);
  }

  /** The columns that the records table got since this one was created, as `name` and `type`. */
  missing(): Sql {
    const columns = (table: string): string =>
      `SELECT name, type FROM system.columns WHERE concat(database, '.', table) = ${textLiteral(table)}`;
    return this.#sql(`${columns(this.#records)} AND name NOT IN (SELECT name FROM (${columns(this.name)}))`);
  }

  /** Tables exchange parts only if they have the same columns. */
  widen(columns: readonly { readonly name: string; readonly type: string }[]): Sql {
    const added = columns.map(({ name, type }) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`);
    return this.#sql(`ALTER TABLE ${this.name} ${added.join(', ')}`);
  }

  /** Makes its records part of their space, all at one moment. */
  attach(): Sql {
    return {
      ...this.#sql(`ALTER TABLE ${this.#records} ATTACH PARTITION tuple() FROM ${this.name}`),
      space: this.#spaceId,
    };
  }

  /** Its records that are part of their space: all of them, if attaching was completed. */
  attached(): IdRange {
    return { ...allIds, where: `_id IN (SELECT _id FROM ${this.name})` };
  }

  /** A page of its values of some slots: the column `values` has a map. @param after the last id of the page before */
  values(slots: readonly string[], after: string, limit: number): Sql {
    const list = slots.map(textLiteral).join(', ');
    return this.#sql(`SELECT _id, mapFilter((slot, _) -> slot IN (${list}), _doc) AS values FROM ${this.name}
      WHERE _id > ${textLiteral(after)} ORDER BY _id LIMIT ${limit}`);
  }

  /** Keys of its unique values, in the form of `allKeys`. */
  keys(): Sql {
    return this.#sql(keyWordsSql(`SELECT space, arrayJoin(_keys) AS key FROM ${this.name}`));
  }

  /** Bytes of the values of all, as text. @param overhead bytes that each record counts in addition */
  sumBytes(overhead: number): Sql {
    return this.#sql(
      `SELECT toFloat64(${overhead} * count() + sum(${valueBytes})) AS bytes FROM ${this.name}`,
    );
  }

  /** A row, if by now records of the space have one of its values of a field, or one of its ids. */
  taken(field: Field | 'id'): Sql {
    const value = valueSql(field);
    const staged = `SELECT ${value} FROM ${this.name} WHERE ${value} IS NOT NULL`;
    return {
      ...this.#sql(`SELECT 1 FROM ${this.#records}
        WHERE space = ${textLiteral(this.#spaceId)} AND ${value} IN (${staged}) LIMIT 1`),
      space: this.#spaceId,
    };
  }

  #sql(sql: string): Sql {
    return { sql, home: this.home };
  }
}
