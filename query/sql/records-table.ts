import { hash } from 'node:crypto';
import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';
import { keysTable, recordsTable } from '../../common/metadata/migrations/record-tables.ts';
import type { Condition } from '../input/parse-conditions.ts';
import type { StoredValue } from '../structure/field.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import { type RowUpdate, updateAssignments } from './update-sql.ts';

/** A record of one of the spaces. */
export interface RecordAddress {
  readonly spaceId: string;
  readonly id: string;
}

/** A SELECT over the records of one space. All texts are SQL. */
export interface Selection {
  readonly columns: string;
  /** Null: all records of the space. */
  readonly where?: string | null;
  /** Records are among those that have one of these values. */
  readonly keyed?: readonly Condition[];
  /** GROUP BY, ORDER BY, LIMIT, SETTINGS. */
  readonly tail?: string;
}

/** SQL, and the server of several that it is for. */
export interface Sql {
  readonly sql: string;
  readonly home: string;
  /** It needs all records of this space to be in the table; absent: it goes by ids, or its caller sees to that. */
  readonly space?: string;
}

/** In place of a space: it needs the records of all of them. */
export const allSpaces = '*';

/** Of several servers each is the home of some of the spaces. */
const homes = 16;

/**
 * The one place that names the records table and the table of keys (docs/records.md). The rows of all accounts lie in
 * them, so every statement that is made here says of which spaces: there is no other way to make one.
 */
export class RecordsTable {
  readonly #records: string;
  readonly #keys: string;
  readonly #changed: { readonly records: string; readonly keys: string };
  readonly #severalHomes: boolean;

  constructor(db: Pick<Database, 'cluster' | 'servers'>, database: string) {
    const { rowsEverywhere } = topologyOf(db);
    this.#records = `${database}.${recordsTable}`;
    this.#keys = `${database}.${keysTable}`;
    this.#changed = { records: rowsEverywhere(this.#records), keys: rowsEverywhere(this.#keys) };
    this.#severalHomes = db.servers > 1;
  }

  /** What statements about a space are sent by; those of one home share statements. */
  homeOf(spaceId: string): string {
    return this.#severalHomes ? `records ${Number.parseInt(spaceId.slice(0, 2), 16) % homes}` : 'records';
  }

  select(spaceId: string, { columns, where = null, keyed = [], tail = '' }: Selection): Sql {
    const conditions = [`space = ${textLiteral(spaceId)}`];
    if (keyed.length > 0) conditions.push(`_id IN (${this.#idsByKeys(spaceId, keyed)})`);
    if (where !== null) conditions.push(where);
    const sql = `SELECT ${columns} FROM ${this.#records} WHERE ${conditions.join(' AND ')} ${tail}`.trimEnd();
    return { sql, home: this.homeOf(spaceId), space: spaceId };
  }

  /** Records of any spaces of one home by their ids; the column `_space` tells whose they are. */
  selectByIds(records: readonly RecordAddress[], columns: string): Sql {
    const sql = `SELECT toString(space) AS _space, ${columns} FROM ${this.#records} WHERE ${addressesSql(records)}`;
    return { sql, home: this.#homeOfAll(records) };
  }

  /** Records of any spaces of one home that may have values of keyed slots. */
  selectByKeys(
    values: readonly { readonly spaceId: string; readonly slot: string; readonly value: StoredValue }[],
    columns: string,
  ): Sql {
    const keys = values.map(({ spaceId, slot, value }) => `(${textLiteral(spaceId)}, ${keyOf(slot, value)})`);
    const spaces = spacesSql(values);
    const ids = `SELECT space, _id FROM ${this.#keys} WHERE ${spaces} AND (space, key) IN (${keys.join(', ')})`;
    const sql = `SELECT toString(space) AS _space, ${columns} FROM ${this.#records} WHERE ${spaces} AND (space, _id) IN (${ids})`;
    return { sql, home: this.homeOf((values[0] as { spaceId: string }).spaceId) };
  }

  /** Deletes records of any spaces of one home. */
  remove(records: readonly RecordAddress[]): Sql {
    const sql = `DELETE FROM ${this.#changed.records} WHERE ${addressesSql(records)} SETTINGS ${deleteSettings}`;
    return { sql, home: this.#homeOfAll(records) };
  }

  /** Sets values of records of any spaces of one home; all set the same slots. */
  update(rows: readonly RowUpdate[], now: Date): Sql {
    const sql = `UPDATE ${this.#changed.records} SET ${updateAssignments(rows, now)} WHERE ${addressesSql(rows)}`;
    return { sql, home: this.#homeOfAll(rows) };
  }

  clear(spaceId: string): Sql {
    const where = `space = ${textLiteral(spaceId)}`;
    const sql = `DELETE FROM ${this.#changed.records} WHERE ${where} SETTINGS ${deleteSettings}`;
    return { sql, home: this.homeOf(spaceId), space: spaceId };
  }

  /** Deletes the keys of a space without records. Younger ones may be of a write that another process has begun. */
  clearKeys(spaceId: string): Sql {
    const where = `space = ${textLiteral(spaceId)} AND _written < now() - INTERVAL 1 HOUR`;
    const sql = `DELETE FROM ${this.#changed.keys} WHERE ${where} SETTINGS ${deleteSettings}`;
    return { sql, home: this.homeOf(spaceId) };
  }

  /** Deletes all keys of a space that is dropped. */
  dropKeys(spaceId: string): Sql {
    const where = `space = ${textLiteral(spaceId)}`;
    const sql = `DELETE FROM ${this.#changed.keys} WHERE ${where} SETTINGS ${deleteSettings}`;
    return { sql, home: this.homeOf(spaceId) };
  }

  /** Takes the values of a slot out of all records of a space. */
  dropSlot(spaceId: string, slot: string): Sql {
    const kind = kindOf(slot);
    const map = kind === 'h' ? '_hashes' : '_doc';
    const column = kind === 'h' || kind === 'm' ? '' : `${slot} = NULL, `;
    const without = `${map} = mapFilter((slot, _) -> slot != ${textLiteral(slot)}, ${map})`;
    const sql = `UPDATE ${this.#changed.records} SET ${column}${without}
      WHERE space = ${textLiteral(spaceId)} AND mapContains(${map}, ${textLiteral(slot)})`;
    return { sql, home: this.homeOf(spaceId), space: spaceId };
  }

  /** How many records spaces of one home have, by the column `_space`; those without any are not there. */
  /** Bytes of the values of all records, as text. @param overhead what each record counts beside them */
  sumBytes(spaceIds: readonly string[], overhead: number): Sql {
    const among = spaceIds.map(textLiteral).join(', ');
    const sql = `SELECT toFloat64(${overhead} * count() + sum(arraySum(arrayMap(x -> length(x), mapValues(_doc))))) AS bytes
      FROM ${this.#records} WHERE space IN (${among})`;
    return { sql, home: this.homeOf(spaceIds[0] as string), space: allSpaces };
  }

  countAll(spaceIds: readonly string[]): Sql {
    const among = spaceIds.map(textLiteral).join(', ');
    const sql = `SELECT toString(space) AS _space, toFloat64(count()) AS records FROM ${this.#records}
      WHERE space IN (${among}) GROUP BY space`;
    return { sql, home: this.homeOf(spaceIds[0] as string), space: allSpaces };
  }

  /** Writes the keys of all stored values of a slot. Those that are there may be there twice then, which is no harm. */
  addKeys(spaceId: string, slot: string): Sql {
    const key = `reinterpretAsUInt64(substring(MD5(concat('${slot}:', _doc['${slot}'])), 1, 8))`;
    const sql = `INSERT INTO ${this.#keys} (space, key, _id) SELECT space, ${key}, _id FROM ${this.#records}
      WHERE space = ${textLiteral(spaceId)} AND mapContains(_doc, '${slot}')`;
    return { sql, home: this.homeOf(spaceId), space: spaceId };
  }

  /** How many keys there are, of all spaces. */
  countKeys(): Sql {
    const sql = `SELECT toFloat64(count()) AS keys FROM ${this.#keys}`;
    return { sql, home: this.homeOf('0'), space: allSpaces };
  }

  /** The words of all keys and spaces, as `keyWords` joins them: 16 bytes a row of RowBinary. */
  allKeys(): Sql {
    const space = 'UUIDStringToNum(toString(space))';
    const word = (at: number): string => `reinterpretAsUInt32(substring(${space}, ${at}, 4))`;
    const key = 'toUInt32(bitAnd(key, 0xffffffff)), toUInt32(bitShiftRight(key, 32))';
    const sql = `SELECT ${key}, ${word(9)}, ${word(13)} FROM ${this.#keys}`;
    return { sql, home: this.homeOf('0'), space: allSpaces };
  }

  get recordRows(): { readonly table: string } {
    return { table: this.#records };
  }

  get keyRows(): { readonly table: string; readonly columns: readonly string[] } {
    return { table: this.#keys, columns: ['space', 'key', '_id'] };
  }

  #idsByKeys(spaceId: string, keyed: readonly Condition[]): string {
    const keys = keyed.map(({ target, value }) =>
      keyOf(slotOf(target as Exclude<typeof target, string>), value as StoredValue),
    );
    return `SELECT _id FROM ${this.#keys} WHERE space = ${textLiteral(spaceId)} AND key IN (${keys.join(', ')})`;
  }

  #homeOfAll(records: readonly RecordAddress[]): string {
    return this.homeOf((records[0] as RecordAddress).spaceId);
  }
}

/**
 * The mode is named because the default one is a mutation: it takes longer, and a mutation loses an update that runs
 * beside it (docs/decisions/003-updates.md).
 */
const deleteSettings = `lightweight_delete_mode = 'lightweight_update_force'`;

function addressesSql(records: readonly RecordAddress[]): string {
  const list = records.map(({ spaceId, id }) => `(${textLiteral(spaceId)}, ${textLiteral(id)})`);
  return `${spacesSql(records)} AND (space, _id) IN (${list.join(', ')})`;
}

/** Pairs alone would do, but the engine finds the shards of a statement by a condition on the space itself. */
function spacesSql(records: readonly { readonly spaceId: string }[]): string {
  return `space IN (${[...new Set(records.map(({ spaceId }) => textLiteral(spaceId)))].join(', ')})`;
}

/**
 * The key of a value, as a decimal number: 64 bits of a hash. Different values may have one key, so a reader that finds
 * a record by it compares the value as well.
 */
export function keyOf(slot: string, value: StoredValue): string {
  return hashOf(slot, value).readBigUInt64LE(0).toString();
}

/** Two words that stand for a key of a space. @param hash begins with the key, low byte first */
export function keyWords(spaceId: string, hash: Buffer): [low: number, high: number] {
  const space = Buffer.from(spaceId.slice(19).replace('-', ''), 'hex');
  return [hash.readUInt32LE(0) ^ space.readUInt32LE(0), hash.readUInt32LE(4) ^ space.readUInt32LE(4)];
}

export function hashOf(slot: string, value: StoredValue): Buffer {
  return hash('md5', `${slot}:${value}`, 'buffer');
}
