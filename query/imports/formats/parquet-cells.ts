import type { SchemaElement, SchemaTree } from 'hyparquet';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import type { TypedField } from '#records/types/field-types.ts';
import { fileDecimal, fileTypes } from '#records/types/file-types.ts';
import { FileProblem } from './file-problem.ts';
import { intervalText } from './interval-text.ts';
import {
  type CellReader,
  DecimalCell,
  dayCell,
  nullable,
  type TimeUnit,
  timeCell,
  timeOfDayCell,
} from './typed-cells.ts';

/** A column of a Parquet file. */
export interface ParquetColumn {
  readonly name: string;
  /** The type that the file says; null: texts, which may be JSON. */
  readonly type: TypedField | null;
  /** Converts the values that the package reads; null: they stay as they are. */
  readonly read: CellReader | null;
}

/** Names of the repeated group of a list whose elements are records with one field. */
const recordNames = /^array$|_tuple$/;

/**
 * The columns of a schema. Annotations that the package can't read, or reads wrongly, are removed from it.
 * @param root the schema of the metadata, which the package uses for reading
 */
export function parquetColumns(root: SchemaTree): readonly ParquetColumn[] {
  return root.children.map((node) => {
    const { element } = node;
    const type = typeOf(node);
    // a JSON column stays a text, which its field stores or parses
    return { name: element.name, type, read: isJson(element) ? null : readerOf(node) };
  });
}

function typeOf({ element, children }: SchemaTree): TypedField | null {
  if (element.repetition_type === 'REPEATED') return fileTypes.list;
  if (children.length > 0) return isAnnotated(element, 'LIST') ? fileTypes.list : fileTypes.struct;
  const decimal = decimalOf(element);
  if (decimal !== null) return fileDecimal(decimal.precision, decimal.scale);
  if (isDay(element)) return fileTypes.day;
  if (timeOf(element) !== null) return fileTypes.time;
  if (timeOfDayOf(element) !== null || element.logical_type?.type === 'NULL') return null;
  switch (element.type) {
    case 'BOOLEAN':
      return fileTypes.boolean;
    case 'INT32':
      return fileTypes.int;
    case 'INT64':
      return fileTypes.long;
    case 'FLOAT':
    case 'DOUBLE':
      return fileTypes.double;
    default:
      return element.logical_type?.type === 'FLOAT16' ? fileTypes.double : null;
  }
}

function readerOf(node: SchemaTree): CellReader | null {
  const { element, children } = node;
  if (children.length === 0) {
    const read = leafReader(element);
    if (read === null || element.repetition_type !== 'REPEATED') return read;
    return nullable((value) => Array.from(value as ArrayLike<unknown>, read));
  }
  const repeated = children[0] as SchemaTree;
  if (isAnnotated(element, 'LIST') && children.length === 1 && isRecordList(repeated)) {
    // https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#backward-compatibility-rules: the package reads
    // it correctly as a group of one repeated group
    clear(element);
    const { name } = repeated.element;
    const fields = fieldReader(repeated.children);
    return nullable((value) => {
      const list = ((value as Record<string, unknown>)[name] ?? []) as unknown[];
      return fields === null ? list : list.map(fields);
    });
  }
  if (isAnnotated(element, 'LIST') && children.length === 1) {
    const item = elementReader(
      repeated.children.length === 1 ? (repeated.children[0] as SchemaTree) : repeated,
    );
    return item && nullable((value) => Array.from(value as ArrayLike<unknown>, item));
  }
  if (isAnnotated(element, 'MAP') && children.length === 1 && repeated.children.length === 2) {
    const [key, item] = repeated.children as [SchemaTree, SchemaTree];
    const read = readerOf(item);
    const readKey = readerOf(key);
    if (readKey === null) return read && nullable((value) => mapValues(value as object, () => read));
    // the package would make texts of the keys: without the annotation it reads entries
    clear(element);
    clear(repeated.element);
    return nullable((value) => {
      const entries = ((value as Record<string, unknown>)[repeated.element.name] ?? []) as Entries;
      const [keyName, itemName] = [key.element.name, item.element.name];
      return new Map(
        entries.map((entry) => [
          readKey(entry[keyName]),
          read === null ? (entry[itemName] ?? null) : read(entry[itemName]),
        ]),
      );
    });
  }
  const fields = fieldReader(children);
  if (fields === null || element.repetition_type !== 'REPEATED') return fields;
  return nullable((value) => (value as unknown[]).map(fields));
}

type Entries = readonly Readonly<Record<string, unknown>>[];

/** The reader of one element of a list. In the oldest form of lists the repeated value itself is the element. */
function elementReader(node: SchemaTree): CellReader | null {
  return node.children.length === 0 ? leafReader(node.element) : readerOf(node);
}

/** Reads an object with these fields. */
function fieldReader(children: readonly SchemaTree[]): CellReader | null {
  const readers = new Map(children.map((child) => [child.element.name, readerOf(child)]));
  if ([...readers.values()].every((reader) => reader === null)) return null;
  return nullable((value) => mapValues(value as object, (key) => readers.get(key) ?? null));
}

function leafReader(element: SchemaElement): CellReader | null {
  const decimal = decimalOf(element);
  const time = timeOf(element);
  const timeOfDay = timeOfDayOf(element);
  if (decimal !== null) {
    clear(element);
    return nullable((value) => new DecimalCell(digitsOf(value), decimal.scale));
  }
  if (time !== null) {
    clear(element);
    return nullable((value) => timeCell(value as bigint, time.unit, time.isUtc));
  }
  if (isDay(element)) {
    clear(element);
    return nullable((value) => dayCell(value as number));
  }
  if (timeOfDay !== null) {
    clear(element);
    return nullable((value) => timeOfDayCell(value as bigint | number, timeOfDay));
  }
  if (element.converted_type === 'INTERVAL') {
    clear(element);
    return nullable((value) => intervalOf(value as Uint8Array));
  }
  if (isJson(element)) return nullable((value) => jsonOf(String(value)));
  if (element.converted_type !== 'BSON' && element.logical_type?.type !== 'BSON') return null;
  clear(element);
  // it is never a text, even if its bytes are UTF-8
  return nullable((value) => (typeof value === 'string' ? Buffer.from(value) : value));
}

/** Whether the repeated group itself is the element of a list, and not its only field. */
function isRecordList({ element, children }: SchemaTree): boolean {
  return children.length > 1 || (children.length === 1 && recordNames.test(element.name));
}

function isAnnotated({ converted_type, logical_type }: SchemaElement, type: 'LIST' | 'MAP'): boolean {
  return converted_type === type || logical_type?.type === type;
}

function clear(element: SchemaElement): void {
  delete element.converted_type;
  delete element.logical_type;
}

function mapValues(value: object, readerFor: (key: string) => CellReader | null): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const read = readerFor(key);
      return [key, read === null ? (item ?? null) : read(item)];
    }),
  );
}

const units = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' } as const;

/** How a time counts; null: it is none. */
function timeOf({
  type,
  converted_type: converted,
  logical_type: logical,
}: SchemaElement): { readonly unit: TimeUnit; readonly isUtc: boolean } | null {
  if (logical?.type === 'TIMESTAMP') return { unit: units[logical.unit], isUtc: logical.isAdjustedToUTC };
  // INT96 has nanoseconds, by the clocks of UTC (parquet-rows.ts)
  if (type === 'INT96') return { unit: 'ns', isUtc: true };
  const [, unit] = /^TIMESTAMP_(MILLIS|MICROS)$/.exec(converted ?? '') ?? [];
  return unit === undefined ? null : { unit: units[unit as keyof typeof units], isUtc: true };
}

function isDay({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === 'DATE' || logical?.type === 'DATE';
}

/** How a time of a day counts; null: it is none. */
function timeOfDayOf({ converted_type: converted, logical_type: logical }: SchemaElement): TimeUnit | null {
  if (logical?.type === 'TIME') return units[logical.unit];
  const [, unit] = /^TIME_(MILLIS|MICROS)$/.exec(converted ?? '') ?? [];
  return unit === undefined ? null : units[unit as keyof typeof units];
}

function decimalOf(element: SchemaElement): { readonly precision: number; readonly scale: number } | null {
  const { converted_type: converted, logical_type: logical } = element;
  if (logical?.type === 'DECIMAL') return decimalDigits(logical);
  return converted === 'DECIMAL' ? decimalDigits(element) : null;
}

function decimalDigits({ precision, scale }: { readonly precision?: number; readonly scale?: number }) {
  return { precision: precision ?? 0, scale: scale ?? 0 };
}

/** @param value a number, or the bytes of one with the high byte first, which the package may take for a text */
function digitsOf(value: unknown): bigint {
  if (typeof value === 'bigint' || typeof value === 'number') return BigInt(value);
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value as Uint8Array);
  return bytes.byteLength === 0
    ? 0n
    : BigInt.asIntN(8 * bytes.byteLength, BigInt(`0x${bytes.toString('hex')}`));
}

function isJson({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'JSON' || logical_type?.type === 'JSON';
}

function jsonOf(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    if (error instanceof RoundedNumber) throw new FileProblem(null, `in a JSON text ${error.message}`);
    return text;
  }
}

/** @param bytes months, days and milliseconds */
function intervalOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return intervalText(view.getUint32(0, true), view.getUint32(4, true), view.getUint32(8, true) / 1000);
}
