import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Field } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { valueSql } from './value-sql.ts';

/**
 * SQL for a record as JSON text, keyed by field name, without hashed fields; `prefix` comes before it. For results of
 * many records: the engine makes the text, and it is never parsed. It has no raw line break, so it is one line of
 * a TSVRaw result.
 */
export function recordExpression({ fields }: Structure, prefix = ''): string {
  const parts: string[] = [];
  let text = `${prefix}{"id":`;
  const append = (expression: string): void => {
    parts.push(textLiteral(text), expression);
    text = '';
  };
  append('toJSONString(_id)');
  for (const field of fields) {
    if (field.hashed) continue;
    text += `,${JSON.stringify(field.name)}:`;
    append(fieldExpression(field));
  }
  text += ',"createdAt":';
  append('toJSONString(_created_at)');
  text += ',"updatedAt":';
  append('toJSONString(_updated_at)');
  parts.push(`'}'`);
  return `concat(${parts.join(', ')})`;
}

function fieldExpression(field: Field): string {
  const value = valueSql(field);
  // these are stored as JSON text already
  const json = field.type === 'ARRAY' || field.type === 'OBJECT' ? value : `toJSONString(${value})`;
  // NULL in, NULL out: one would make the whole record NULL
  return `ifNull(${json}, 'null')`;
}
