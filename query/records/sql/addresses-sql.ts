import { textLiteral } from '#engine/literal.ts';
import { anyNumber } from './terms.ts';

export interface RecordAddress {
  readonly spaceId: string;
  readonly id: string;
}

/**
 * The mode is named because the default one is a mutation: it takes longer, and a mutation loses an update that runs
 * at the same time (docs/decisions/003-updates.md).
 */
export function deleteSql(table: string, where: string): string {
  return `DELETE FROM ${table} WHERE ${where} SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;
}

export function addressesSql(records: readonly RecordAddress[]): string {
  if (areOfOneSpace(records))
    return `${spacesSql(records)} AND ${oneOf('_id', [...new Set(records.map(({ id }) => id))])}`;
  const list = records.map(({ spaceId, id }) => `(${textLiteral(spaceId)}, ${textLiteral(id)})`);
  return `${spacesSql(records)} AND (space, _id) IN (${list.join(', ')})`;
}

/** If all are in one space, ids are enough, which cost an UPDATE of 1,000 records a quarter less than pairs. */
function areOfOneSpace(records: readonly { readonly spaceId: string }[]): boolean {
  return records.every(({ spaceId }) => spaceId === records[0]?.spaceId);
}

/** Statements that delete old keys of a space: duplicates, and keys of values that their record no longer has. */
export function oldKeysSql(
  { keys, records }: { readonly keys: string; readonly records: string },
  spaceId: string,
  areOld: string,
): readonly string[] {
  const ofSpace = `space = ${textLiteral(spaceId)}`;
  const each = (value: string): string => {
    const hash = `reinterpretAsUInt64(substring(MD5(concat(slot, ':', ${value})), 1, 8))`;
    return `arrayMap((slot, value) -> ${hash}, mapKeys(_doc), mapValues(_doc))`;
  };
  const present = `SELECT arrayJoin(arrayConcat(${each('value')}, ${each(`'${anyNumber}'`)})), _id FROM ${records}
    WHERE ${ofSpace} AND _id IN (SELECT _id FROM ${keys} WHERE ${ofSpace})`;
  const newest = `SELECT key, _id, max(_written) FROM ${keys} WHERE ${ofSpace} GROUP BY key, _id`;
  return [`(key, _id, _written) NOT IN (${newest})`, `(key, _id) NOT IN (${present})`].map((where) =>
    deleteSql(keys, `${ofSpace} AND ${areOld} AND ${where}`),
  );
}

/** Pairs would be enough, but a condition on the space itself lets the engine use the primary key. */
function spacesSql(records: readonly { readonly spaceId: string }[]): string {
  return oneOf('space', [...new Set(records.map(({ spaceId }) => spaceId))]);
}

/** A list costs the engine a set, and a millisecond or two; equality does not. */
export function oneOf(column: string, texts: readonly string[]): string {
  const [first, second] = texts.map(textLiteral);
  return second === undefined
    ? `${column} = ${first}`
    : `${column} IN (${texts.map(textLiteral).join(', ')})`;
}
