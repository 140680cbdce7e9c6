import { keysTable, recordsTable } from '#catalogue/migrations/record-tables.ts';
import type { Database } from '#engine/database.ts';
import { homeIn } from '#engine/home.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Condition } from '../input/parse-conditions.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { Conversion, StoredValue } from '../types/field-type.ts';
import { fileSlot } from '../types/file.ts';
import { addressesSql, deleteSql, oldKeysSql, oneOf, type RecordAddress } from './addresses-sql.ts';
import { receiptSpace, storeOfRecords } from './id-in-store.ts';
import { allIds, type IdRange, rangeSql } from './id-range.ts';
import { keyWordsSql } from './record-keys.ts';
import { valueBytes } from './record-row.ts';
import { type SlotValue, sampleSql, termOf, termsSql, updateKeysSql } from './terms.ts';
import { type RowUpdate, updateAssignments } from './update-sql.ts';

/** A SELECT over the records of one space. All texts are SQL. */
export interface Selection {
  readonly columns: string;
  /** Null: all records of the space. */
  readonly where?: string | null;
  /** Each record has one of these ids or values: the index of values finds them. */
  readonly indexed?: readonly Condition[];
  /** A condition that counts every row read, before any other condition. */
  readonly counted?: string;
  readonly tail?: string;
}

/** SQL, and the key that chooses its server. */
export interface Sql {
  readonly sql: string;
  readonly home: string;
  /** Flush the log of this space first. Absent: not needed. */
  readonly space?: string;
}

/** In place of a space: flush the log of all spaces first. */
export const allSpaces = '*';

/** The most bytes that a slot and the lengths take in addition to a value of a row in memory. */
const slotBytes = 9;
/** Bytes of a row that may leave as many bytes of a slab unused (query/records/memory/row-slabs.ts). */
export const largeRow = 64 * 1024;

/** Spaces of one statement: its text holds their ids. */
const spacesAtOnce = 1000;
/** Selects keys whose writes have ended. */
const oldKeys = '_written < now() - INTERVAL 1 HOUR';

/** Number of homes if there are several servers. */
const mostHomes = 16;

/**
 * The only place that names the records table and the table of keys (docs/records.md). They hold the rows of all accounts,
 * so every statement has to name its spaces, and can only be made here.
 */
export class RecordsTable {
  readonly #records: string;
  readonly #keys: string;
  readonly recordRows: { readonly table: string };
  readonly keyRows: { readonly table: string; readonly columns: readonly string[] };
  /** Groups of spaces; each has its home on one of several servers. */
  readonly #homes: number;

  constructor(db: Pick<Database, 'servers'>, database: string) {
    this.#records = `${database}.${recordsTable}`;
    this.#keys = `${database}.${keysTable}`;
    this.recordRows = { table: this.#records };
    this.keyRows = { table: this.#keys, columns: ['space', 'key', '_id'] };
    this.#homes = db.servers > 1 ? mostHomes : 1;
  }

  /** The key that chooses the server for statements about a space. Spaces of one home share statements. */
  homeOf(spaceId: string): string {
    const home = this.#homes === 1 ? 'records' : `records ${this.#homeNumber(spaceId)}`;
    return homeIn(storeOfRecords(spaceId), home);
  }

  /** Groups of spaces that can share a statement: `spacesAtOnce` at most, all of one home. */
  *together(spaceIds: Iterable<string>): Generator<readonly string[]> {
    const byHome = new Map<string, string[]>();
    for (const id of spaceIds) {
      const ids = byHome.get(this.homeOf(id)) ?? [];
      byHome.set(this.homeOf(id), ids);
      ids.push(id);
    }
    for (const ids of byHome.values())
      for (let from = 0; from < ids.length; from += spacesAtOnce) yield ids.slice(from, from + spacesAtOnce);
  }

  /** The space for the receipts of inserts into a space. It has no owner, and the same home. */
  receiptsOf(spaceId: string): string {
    return receiptSpace(this.#homeNumber(spaceId), storeOfRecords(spaceId));
  }

  receiptSpaces(store: number): readonly string[] {
    return Array.from({ length: this.#homes }, (_, home) => receiptSpace(home, store));
  }

  select(spaceId: string, { columns, where = null, indexed = [], counted, tail = '' }: Selection): Sql {
    // before columns are read, as the engine does by default when it does not count
    const clause = counted === undefined ? 'WHERE' : `PREWHERE ${counted} AND`;
    const conditions = [`space = ${textLiteral(spaceId)}`];
    if (indexed.length > 0) conditions.push(this.#byValues(spaceId, indexed));
    if (where !== null) conditions.push(where);
    const sql = `SELECT ${columns} FROM ${this.#records} ${clause} ${conditions.join(' AND ')} ${tail}`;
    return this.#about(spaceId, sql.trimEnd());
  }

  /** Records of any spaces of one home by their ids, with their space in the column `_space`. */
  selectByIds(records: readonly RecordAddress[], columns: string): Sql {
    const sql = `SELECT toString(space) AS _space, ${columns} FROM ${this.#records} WHERE ${addressesSql(records)}`;
    return { sql, home: this.#homeOfAll(records) };
  }

  /**
   * Records of any spaces of one home that may have one of the values, some of them twice: records that were stored with it,
   * and records that an update may have given it. The engine takes its snapshot of the records before its snapshot of the
   * keys, which are written before their update. For every update that it sees, it therefore sees the keys.
   * @param values at least one
   */
  selectByValues(values: readonly SlotValue[], columns: string): Sql {
    const spaces = oneOf('space', [...new Set(values.map(({ spaceId }) => spaceId))]);
    const terms = termsSql(values.map(({ spaceId, slot, value }) => termOf(spaceId, slot, value)));
    const select = `SELECT ${columns} FROM ${this.#records} WHERE ${spaces}`;
    const updated = `SELECT _id FROM ${this.#keys} WHERE ${spaces} AND ${updateKeysSql(values)}`;
    const sql = `${select} AND ${terms} UNION ALL ${select} AND _id IN (${updated})`;
    return { sql, home: this.homeOf((values[0] as SlotValue).spaceId) };
  }

  /** The terms that more than `most` records have, among the oldest and the newest `records` of a space. */
  sampleTerms(spaceId: string, { records, most }: { readonly records: number; readonly most: number }): Sql {
    const space = `SELECT _id, _terms FROM ${this.#records} WHERE space = ${textLiteral(spaceId)}`;
    return this.#about(spaceId, sampleSql(space, { records, most }));
  }

  /** Deletes records of any spaces of one home. */
  remove(records: readonly RecordAddress[]): Sql {
    return { sql: deleteSql(this.#records, addressesSql(records)), home: this.#homeOfAll(records) };
  }

  /** Sets values of records of any spaces of one home; all set the same slots. */
  update(rows: readonly RowUpdate[], now: Date): Sql {
    const sql = `UPDATE ${this.#records} SET ${updateAssignments(rows, now)} WHERE ${addressesSql(rows)}`;
    return { sql, home: this.#homeOfAll(rows) };
  }

  /** Deletes the records of a space. @param before only records with ids before this one */
  clear(spaceId: string, before?: string): Sql {
    const older = before === undefined ? '' : ` AND _id < ${textLiteral(before)}`;
    return this.#about(spaceId, deleteSql(this.#records, `space = ${textLiteral(spaceId)}${older}`));
  }

  /** Deletes receipts of inserts into spaces. @param receipts as of `receiptsOf` @param spaceIds of the catalogue */
  clearReceipts(receipts: string, spaceIds: readonly string[]): Sql {
    const among = spaceIds.map(textLiteral).join(', ');
    const where = `space = ${textLiteral(receipts)} AND _doc['m2'] IN (${among})`;
    return this.#about(receipts, deleteSql(this.#records, where));
  }

  /**
   * Deletes keys that updates wrote and whose values their records no longer have, and duplicates, except keys of the last
   * hour: their updates may be under way.
   */
  clearOldKeys(spaceId: string): readonly Sql[] {
    return oldKeysSql({ keys: this.#keys, records: this.#records }, spaceId, oldKeys).map((sql) => ({
      sql,
      home: this.homeOf(spaceId),
      space: spaceId,
    }));
  }

  clearRange(spaceId: string, range: IdRange): Sql {
    const where = `space = ${textLiteral(spaceId)} AND ${rangeSql(range)}`;
    return this.#about(spaceId, deleteSql(this.#records, where));
  }

  /** Deletes the keys of a space without records. @param which `old`: an update that another process has begun keeps its own */
  clearKeys(spaceId: string, which: 'all' | 'old'): Sql {
    const old = which === 'old' ? ` AND ${oldKeys}` : '';
    return {
      sql: deleteSql(this.#keys, `space = ${textLiteral(spaceId)}${old}`),
      home: this.homeOf(spaceId),
    };
  }

  /** The first id after another one, among records with a value in a slot. @param skip records to skip first */
  nextOfSlot(spaceId: string, slot: string, after: string, skip: number): Sql {
    const where = `_id > ${textLiteral(after)} AND mapContains(${mapOf(slot)}, ${textLiteral(slot)})`;
    return this.select(spaceId, { columns: '_id', where, tail: `ORDER BY _id LIMIT 1 OFFSET ${skip}` });
  }

  /** Removes the values of a slot from records of a space: from records after one id, and up to another id if given. */
  dropSlot(
    spaceId: string,
    slot: string,
    { after, upTo }: { readonly after: string; readonly upTo: string | undefined },
  ): Sql {
    const kind = kindOf(slot);
    const map = mapOf(slot);
    const column = kind === 'h' || kind === 'm' ? '' : `${slot} = NULL, `;
    const without = `${map} = mapFilter((slot, _) -> slot NOT IN ('${slot}', '${fileSlot(slot)}'), ${map})`;
    const sql = `UPDATE ${this.#records} SET ${column}${without}
      WHERE space = ${textLiteral(spaceId)} AND _id > ${textLiteral(after)}
        ${upTo === undefined ? '' : `AND _id <= ${textLiteral(upTo)}`} AND mapContains(${map}, ${textLiteral(slot)})`;
    return this.#about(spaceId, sql);
  }

  /**
   * Copies the values of a slot to another slot, converted to its type. It can be repeated, and readers of the first slot
   * notice nothing.
   */
  convertSlot(
    spaceId: string,
    { from, to, conversion }: { readonly from: string; readonly to: string; readonly conversion: Conversion },
  ): Sql {
    const column = kindOf(to) === 'm' ? '' : `${to} = ${conversion.column}, `;
    const doc = `_doc = mapUpdate(_doc, map(${textLiteral(to)}, ${conversion.text}))`;
    const sql = `UPDATE ${this.#records} SET ${column}${doc}
      WHERE space = ${textLiteral(spaceId)} AND mapContains(_doc, ${textLiteral(from)})`;
    return this.#about(spaceId, sql);
  }

  /** Bytes of the values of all records, as text. @param overhead bytes that each record counts in addition */
  sumBytes(spaceIds: readonly string[], overhead: number): Sql {
    const sql = `SELECT toFloat64(${overhead} * count() + sum(${valueBytes})) AS bytes
      FROM ${this.#records} WHERE ${oneOf('space', spaceIds)}`;
    return { sql, home: this.homeOf(spaceIds[0] as string), space: allSpaces };
  }

  /** How many records the spaces of one home have, by the column `_space`; empty spaces are missing. */
  countAll(spaceIds: readonly string[]): Sql {
    const sql = `SELECT toString(space) AS _space, toFloat64(count()) AS count FROM ${this.#records}
      WHERE ${oneOf('space', spaceIds)} GROUP BY space`;
    return { sql, home: this.homeOf(spaceIds[0] as string), space: allSpaces };
  }

  /** How many records a space has, up to a limit, in the form of `countAll`. No more are read, however large the space is. */
  countUpTo(spaceId: string, most: number): Sql {
    const id = textLiteral(spaceId);
    const sql = `SELECT ${id} AS _space, toFloat64(count()) AS count
      FROM (SELECT 1 FROM ${this.#records} WHERE space = ${id} LIMIT ${most})`;
    return { sql, home: this.homeOf(spaceId) };
  }

  /** The sizes of the records of a space, as `RowSizes`. @param some number of records for an estimate */
  sizeOf(spaceId: string, some?: number): Sql {
    const from = `FROM ${this.#records} WHERE space = ${textLiteral(spaceId)}`;
    const limit = some === undefined ? '' : ` LIMIT ${some}`;
    const sql = `SELECT (SELECT toFloat64(count()) ${from}) AS count, toFloat64(max(value)) AS largest,
      count * if(count() = 0, 0, avg(size * if(size > ${largeRow}, 2, 1))) AS bytes
      FROM (SELECT ${valueBytes} AS value, value + ${slotBytes} * length(_doc) AS size ${from}${limit})`;
    return { sql, home: this.homeOf(spaceId) };
  }

  /** Writes the keys of all stored values of a slot. Duplicates are harmless. */
  addKeys(spaceId: string, slot: string, range: IdRange = allIds): Sql {
    const key = `reinterpretAsUInt64(substring(MD5(concat('${slot}:', _doc['${slot}'])), 1, 8))`;
    const sql = `INSERT INTO ${this.#keys} (space, key, _id) SELECT space, ${key}, _id FROM ${this.#records}
      WHERE space = ${textLiteral(spaceId)} AND ${rangeSql(range)} AND mapContains(_doc, '${slot}')`;
    return this.#about(spaceId, sql);
  }

  /** How many keys of unique values all spaces have. */
  countKeys(): Sql {
    const sql = `SELECT toFloat64((SELECT count() FROM ${this.#keys}) + (SELECT sum(length(_keys)) FROM ${this.#records})) AS keys`;
    return { sql, home: this.homeOf('0'), space: allSpaces };
  }

  /** All keys, as `keyWords` makes words of them: 8 bytes a row of RowBinary. @param spaceId absent: of all spaces */
  allKeys(spaceId?: string): Sql {
    const where = spaceId === undefined ? '' : ` WHERE space = ${textLiteral(spaceId)}`;
    const sql = keyWordsSql(`SELECT space, key FROM ${this.#keys}${where}
      UNION ALL SELECT space, arrayJoin(_keys) AS key FROM ${this.#records}${where}`);
    return { sql, home: this.homeOf(spaceId ?? '0'), space: spaceId ?? allSpaces };
  }

  #homeNumber(spaceId: string): number {
    return Number.parseInt(spaceId.slice(0, 2), 16) % this.#homes;
  }

  #about(spaceId: string, sql: string): Sql {
    return { sql, home: this.homeOf(spaceId), space: spaceId };
  }

  #byValues(spaceId: string, indexed: readonly Condition[]): string {
    const values: SlotValue[] = [];
    const ids: string[] = [];
    for (const { target, value } of indexed)
      if (typeof target === 'string') ids.push(textLiteral(value as string));
      else values.push({ spaceId, slot: slotOf(target), value: value as StoredValue });
    const terms = termsSql(values.map(({ slot, value }) => termOf(spaceId, slot, value)));
    const ofSpace = `space = ${textLiteral(spaceId)}`;
    const found = `SELECT _id FROM ${this.#records} WHERE ${ofSpace} AND ${terms}
      UNION ALL SELECT _id FROM ${this.#keys} WHERE ${ofSpace} AND ${updateKeysSql(values)}`;
    return ids.length === 0 ? `_id IN (${found})` : `(_id IN (${found}) OR _id IN (${ids.join(', ')}))`;
  }

  #homeOfAll(records: readonly RecordAddress[]): string {
    return this.homeOf((records[0] as RecordAddress).spaceId);
  }
}

/** The map of a record that holds the values of a slot. */
function mapOf(slot: string): '_hashes' | '_doc' {
  return kindOf(slot) === 'h' ? '_hashes' : '_doc';
}
