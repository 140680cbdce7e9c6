import { booleanLiteral, numberLiteral, textLiteral } from '../../common/clickhouse/literal.ts';
import { timestampText } from '../../common/metadata/row-values.ts';
import { type Field, type StoredValue, systemColumns, type Target } from '../structure/field.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';

/** The value of a record, NULL where it has none; of a hashed field its hash. */
export function valueSql(target: Target): string {
  if (typeof target === 'string') return systemColumns[target];
  const slot = slotOf(target);
  switch (kindOf(slot)) {
    case 'h':
      return mapValueSql('_hashes', slot, (text) => text);
    case 'm':
      return mapValueSql('_doc', slot, (text) => castSql(target, text));
    default:
      return slot;
  }
}

/** Slots that are columns hold what they are declared as; in a map everything is text. */
function castSql({ type }: Field, text: string): string {
  if (type === 'NUMBER') return `toFloat64(${text})`;
  return type === 'BOOLEAN' ? `CAST(${text} = 'true', 'Bool')` : text;
}

function mapValueSql(map: string, slot: string, cast: (text: string) => string): string {
  return `if(mapContains(${map}, '${slot}'), ${cast(`${map}['${slot}']`)}, NULL)`;
}

/** A value that was read by the type of its field. */
export function valueLiteral(value: StoredValue | Date): string {
  if (value instanceof Date) return `toDateTime64(${textLiteral(timestampText(value))}, 3, 'UTC')`;
  switch (typeof value) {
    case 'string':
      return textLiteral(value);
    case 'number':
      return numberLiteral(value);
    case 'boolean':
      return booleanLiteral(value);
  }
}

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
