import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Condition, Conditions } from '../input/parse-conditions.ts';
import { valueLiteral, valueSql } from './value-sql.ts';

/** The plain conditions as an expression; null when there are none, which every record matches. */
export function conditionsSql({
  relationship,
  plain,
}: Pick<Conditions, 'relationship' | 'plain'>): string | null {
  if (plain.length === 0) return null;
  const parts = plain.map(({ target, value }) => `${valueSql(target)} = ${valueLiteral(value)}`);
  return `(${parts.join(relationship === 'And' ? ' AND ' : ' OR ')})`;
}

/** Record ids as an expression. */
export function idsSql(ids: readonly string[]): string {
  return `_id IN (${ids.map(textLiteral).join(', ')})`;
}

/**
 * Conditions of which any matching record has one in the table of keys: with And one that is keyed, with Or all, if
 * they are. Empty: the keys do not help.
 */
export function keyedConditions({
  relationship,
  plain,
}: Pick<Conditions, 'relationship' | 'plain'>): readonly Condition[] {
  const isKeyed = ({ target }: Condition): boolean => typeof target !== 'string' && target.keyed;
  if (relationship === 'Or') return plain.every(isKeyed) ? plain : [];
  // the id is the key of the records themselves
  if (plain.some(({ target }) => target === 'id')) return [];
  return plain.filter(isKeyed).slice(0, 1);
}
