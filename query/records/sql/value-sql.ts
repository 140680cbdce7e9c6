import { textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { type SystemKey, systemColumns, type Target } from '../structure/field.ts';
import type { RecordParts, ShownValue } from '../structure/record-parts.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { StoredValue } from '../types/field-type.ts';
import { typeEntry } from '../types/field-types.ts';
import { fileSlot, linkedTextSql } from '../types/file.ts';

/** The value of a record, NULL if it has none; for a hashed field its hash. */
export function valueSql(target: Target): string {
  if (typeof target === 'string') return systemColumns[target];
  const slot = slotOf(target);
  switch (kindOf(slot)) {
    case 'h':
      return mapValueSql('_hashes', slot, (text) => text);
    case 'm':
      return mapValueSql('_doc', slot, typeEntry(target.type).castSql);
    default:
      return slot;
  }
}

function mapValueSql(map: string, slot: string, cast: (text: string) => string): string {
  return `if(mapContains(${map}, '${slot}'), ${cast(`${map}['${slot}']`)}, NULL)`;
}

/** How the engine has the values of a column, and literals for them. */
export interface ColumnType {
  readonly engineType: string;
  readonly literal: (value: StoredValue) => string;
  /** The text of which CAST makes the value; absent: the stored text. */
  readonly castText?: (value: string) => string;
}

const systemTypes: Readonly<Record<SystemKey, ColumnType>> = {
  id: { engineType: 'String', literal: (value) => textLiteral(value as string) },
  createdAt: { engineType: "DateTime64(3, 'UTC')", literal: String },
  updatedAt: { engineType: "DateTime64(3, 'UTC')", literal: String },
};

export function columnType(target: Target): ColumnType {
  return typeof target === 'string' ? systemTypes[target] : typeEntry(target.type);
}

/** A literal for a value of a column. */
export function valueLiteral({ literal }: ColumnType, value: StoredValue | Date): string {
  return value instanceof Date
    ? `toDateTime64(${textLiteral(timestampText(value))}, 3, 'UTC')`
    : literal(value);
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

/** The right side of IN for values of one column, at least one. */
export function listSql(type: ColumnType, values: readonly (StoredValue | Date)[]): string {
  if (values.length <= fewLiterals) return `(${values.map((value) => valueLiteral(type, value)).join(', ')})`;
  const { engineType, castText = String } = type;
  const texts = values.map((value) =>
    textLiteral(value instanceof Date ? timestampText(value) : castText(String(value))),
  );
  const list = arraySql(texts);
  return engineType === 'String' ? list : `CAST(${list}, ${textLiteral(`Array(${engineType})`)})`;
}

/** The same for lists of values, one of each of several columns. */
export function listsSql(types: readonly ColumnType[], lists: readonly (readonly StoredValue[])[]): string {
  const tupleOf = (values: readonly StoredValue[]): string =>
    `(${values.map((value, at) => valueLiteral(types[at] as ColumnType, value)).join(', ')})`;
  if (lists.length <= fewLiterals) return `(${lists.map(tupleOf).join(', ')})`;
  const textOf = (value: StoredValue, at: number): string => {
    const { engineType, castText = String } = types[at] as ColumnType;
    return engineType === 'String' ? textLiteral(value as string) : castText(String(value));
  };
  const texts = lists.map((values) => `(${values.map(textOf).join()})`);
  const tuple = types.map(({ engineType }) => engineType).join(', ');
  return `CAST(${textLiteral(`[${texts.join()}]`)}, 'Array(Tuple(${tuple}))')`;
}

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
  if (typeEntry(target.type).files !== undefined) {
    const text = linkedTextSql(`_doc[${textLiteral(fileSlot(slotOf(target)))}]`, target.links);
    return `if(${value} IS NULL, 'null', ${text})`;
  }
  const json = path.length > 0 ? pathSql(value, path) : typeEntry(target.type).jsonSql(value, target);
  // NULL in, NULL out: one would make the whole record NULL
  return `ifNull(${json}, 'null')`;
}
