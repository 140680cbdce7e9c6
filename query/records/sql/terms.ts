import { kindOf, type SlotKind } from '../structure/slots.ts';
import type { StoredValue } from '../types/field-type.ts';
import { hashOf, keyOf, keysSql } from './record-keys.ts';

/**
 * A term represents a value of a field of a space in the index of values (docs/decisions/062-index-of-values.md): 40 bits
 * of a hash, as the engine computes them by the default of the column `_terms` (common/catalogue/migrations/record-tables.ts).
 * Two values may have the same term, so a reader compares the value as well.
 */
export type Term = string & { readonly isTerm: true };

/** A value of a field of a space. */
export interface SlotValue {
  readonly spaceId: string;
  readonly slot: string;
  readonly value: StoredValue;
}

/** Words of the last space, because a request has many values of one space. */
let lastSpace = { id: '', bytes: Buffer.alloc(0) };
/** Of each byte. */
const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Common terms of a sample. */
const mostCommon = 10_000;

export function termOf(spaceId: string, slot: string, value: StoredValue): Term {
  if (lastSpace.id !== spaceId) {
    const bytes = Buffer.from(spaceId.slice(19, 23) + spaceId.slice(24, 30), 'hex');
    lastSpace = { id: spaceId, bytes };
  }
  const hash = hashOf(slot, value);
  let term = '';
  for (const [at, byte] of lastSpace.bytes.entries()) term += hexOf[hash.charCodeAt(at) ^ byte];
  return term as Term;
}

/** In place of a value that an increment writes, because the sum is not known before. */
export const anyNumber = '+';

/** The kinds of slots whose fields are numbers, or may be. */
const withSums: ReadonlySet<SlotKind> = new Set(['n', 'i', 'm']);
const mayBeSum = /^-?\d{1,38}(?:\.\d{1,38})?$/;

/** The keys by which updates record values, and the key for sums of increments. */
export function updateKeysSql(values: readonly Pick<SlotValue, 'slot' | 'value'>[]): string {
  const keys = values.map(({ slot, value }) => keyOf(slot, value));
  const sums = values.flatMap(({ slot, value }) =>
    withSums.has(kindOf(slot)) && (typeof value === 'number' || mayBeSum.test(String(value)))
      ? keyOf(slot, anyNumber)
      : [],
  );
  return `key IN ${keysSql([...new Set([...keys, ...sums])])}`;
}

/** A condition that rows have one of the terms. The engine evaluates it by the index. */
export function termsSql(terms: Iterable<Term>): string {
  const tokens = Array.from(new Set(terms), (term) => `'${term.replace(/../g, '\\x$&')}'`);
  return `hasAnyTokens(_terms, [${tokens.join(', ')}])`;
}

/**
 * The terms that more than `most` records have, of the first and the last `records` of a space.
 * @param space a SELECT of `_id` and `_terms`
 */
export function sampleSql(
  space: string,
  { records, most }: { readonly records: number; readonly most: number },
): string {
  const ends = ['', 'DESC'].map((order) => `SELECT * FROM (${space} ORDER BY _id ${order} LIMIT ${records})`);
  const sample = `SELECT _id, any(_terms) AS terms FROM (${ends.join(' UNION ALL ')}) GROUP BY _id`;
  return `SELECT arrayJoin(arrayMap(term -> lower(hex(term)), terms)) AS term
    FROM (${sample}) GROUP BY term HAVING count() > ${most} ORDER BY count() DESC LIMIT ${mostCommon}`;
}
