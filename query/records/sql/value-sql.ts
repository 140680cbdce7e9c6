import { booleanLiteral, numberLiteral, textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { type Field, type StoredValue, systemColumns, type Target } from '../structure/field.ts';
import type { RecordParts, ShownValue } from '../structure/record-parts.ts';
import { kindOf, slotOf } from '../structure/slots.ts';

/** The value of a record, NULL if it has none; for a hashed field its hash. */
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

/** Slots with a column hold values of the declared type; in a map everything is text. */
function castSql({ type }: Field, text: string): string {
  if (type === 'NUMBER') return `toFloat64(${text})`;
  return type === 'BOOLEAN' ? `CAST(${text} = 'true', 'Bool')` : text;
}

function mapValueSql(map: string, slot: string, cast: (text: string) => string): string {
  return `if(mapContains(${map}, '${slot}'), ${cast(`${map}['${slot}']`)}, NULL)`;
}

/** A literal for a value of a field's type. */
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

/** More literals than this are slower than parsing one text: the engine analyses each of them. */
const fewLiterals = 16;

/** An array of texts. */
export function textsSql(texts: readonly string[]): string {
  return arraySql(texts.map(textLiteral));
}

function arraySql(literals: readonly string[]): string {
  return `CAST(${textLiteral(`[${literals.join()}]`)}, 'Array(String)')`;
}

/** The right side of IN for values of one field, at least one. */
export function listSql(values: readonly (StoredValue | Date)[]): string {
  const [first] = values;
  if (values.length <= fewLiterals || typeof first === 'boolean')
    return `(${values.map(valueLiteral).join(', ')})`;
  const texts = values.map((value) =>
    textLiteral(value instanceof Date ? timestampText(value) : String(value)),
  );
  const list = arraySql(texts);
  if (typeof first === 'string') return list;
  const type = first instanceof Date ? "DateTime64(3, 'UTC')" : 'Float64';
  return `CAST(${list}, ${textLiteral(`Array(${type})`)})`;
}

/** The same for lists of values, one of each of several fields. */
export function listsSql(lists: readonly (readonly StoredValue[])[]): string {
  if (lists.length <= fewLiterals)
    return `(${lists.map((values) => `(${values.map(valueLiteral).join(', ')})`).join(', ')})`;
  const types = lists[0]?.map((value) => typesInTuples[typeof value as keyof typeof typesInTuples]) ?? [];
  const textOf = (value: StoredValue): string =>
    typeof value === 'string' ? textLiteral(value) : String(value);
  const texts = lists.map((values) => `(${values.map(textOf).join()})`);
  return `CAST(${textLiteral(`[${texts.join()}]`)}, 'Array(Tuple(${types.join(', ')}))')`;
}

const typesInTuples = { string: 'String', number: 'Float64', boolean: 'Bool' };

/** The value at a path of an object as JSON text, NULL where there is none. */
export function pathSql(column: string, path: readonly string[]): string {
  const raw = `JSONExtractRaw(${column}, ${path.map(textLiteral).join(', ')})`;
  return `if(${raw} IN ('', 'null'), NULL, ${raw})`;
}

/**
 * SQL for a record as JSON text, keyed by field name; `prefix` comes before it. For results of many records: the engine
 * makes the text, and it is never parsed. It has no raw line break, so it is one line of a TSVRaw result.
 */
export function recordExpression({ parts, end }: RecordParts, prefix = ''): string {
  const texts = parts.flatMap((part, index) => [
    textLiteral(index === 0 ? prefix + part.before : part.before),
    partExpression(part),
  ]);
  return `concat(${texts.join(', ')}, ${textLiteral(end)})`;
}

function partExpression({ target, path }: ShownValue): string {
  const value = valueSql(target);
  if (typeof target === 'string') return `toJSONString(${value})`;
  // stored as JSON text already
  const isJson = target.type === 'ARRAY' || target.type === 'OBJECT';
  const json = path.length > 0 ? pathSql(value, path) : isJson ? value : `toJSONString(${value})`;
  // NULL in, NULL out: one would make the whole record NULL
  return `ifNull(${json}, 'null')`;
}
