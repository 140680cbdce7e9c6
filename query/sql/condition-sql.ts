import {
  booleanLiteral,
  numberLiteral,
  quoteIdentifier,
  textLiteral,
} from '../../common/clickhouse/literal.ts';
import { timestampText } from '../../common/control/row-values.ts';
import type { Condition, Conditions } from '../input/parse-conditions.ts';
import type { StoredValue } from '../structure/field.ts';

/** Renders a value by its type; the column it is compared with has the same. */
export function valueLiteral(value: StoredValue | Date): string {
  switch (typeof value) {
    case 'string':
      return textLiteral(value);
    case 'number':
      return numberLiteral(value);
    case 'boolean':
      return booleanLiteral(value);
    default:
      return `toDateTime64(${textLiteral(timestampText(value))}, 3, 'UTC')`;
  }
}

/** The plain conditions as one expression for WHERE; null when there is none. */
export function conditionsSql({
  plain,
  relationship,
}: Pick<Conditions, 'plain' | 'relationship'>): string | null {
  if (plain.length === 0) return null;
  return `(${plain.map(equality).join(relationship === 'And' ? ' AND ' : ' OR ')})`;
}

function equality({ column, value }: Condition): string {
  // NULL = anything is NULL, which WHERE takes as false
  return `${quoteIdentifier(column)} = ${valueLiteral(value)}`;
}
