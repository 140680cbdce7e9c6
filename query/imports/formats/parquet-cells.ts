import type { SchemaElement, SchemaTree } from 'hyparquet';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { FileProblem } from './file-problem.ts';
import { intervalText } from './interval-text.ts';

/** Converts a value that the package has read into the value of a cell. */
type CellReader = (value: unknown) => unknown;

/** Names of the repeated group of a list whose elements are records with one field. */
const recordNames = /^array$|_tuple$/;

/**
 * Removes annotations from a schema that the package can't read, or reads wrongly. Returns for each column how to convert the
 * values that it then reads; null: no conversion.
 * @param root the schema of the metadata, which the package uses for reading
 */
export function cellReaders(root: SchemaTree): readonly (CellReader | null)[] {
  // a JSON column stays a text, which its field stores or parses
  return root.children.map((node) => (isJson(node.element) ? null : readerOf(node)));
}

function readerOf(node: SchemaTree): CellReader | null {
  const { element, children } = node;
  if (children.length === 0) return leafReader(element);
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
    const item = readerOf(repeated.children.length === 1 ? (repeated.children[0] as SchemaTree) : repeated);
    return item && nullable((value) => Array.from(value as ArrayLike<unknown>, item));
  }
  if (isAnnotated(element, 'MAP') && children.length === 1 && repeated.children.length === 2) {
    const [key, item] = repeated.children as [SchemaTree, SchemaTree];
    const read = readerOf(item);
    if (!isTime(key.element)) return read && nullable((value) => mapValues(value as object, () => read));
    // the package would make keys of times in a form of JavaScript: without the annotation it reads entries
    clear(element);
    clear(repeated.element);
    return nullable((value) =>
      mapOf((value as Record<string, unknown>)[repeated.element.name], key, item, read),
    );
  }
  const fields = fieldReader(children);
  if (fields === null || element.repetition_type !== 'REPEATED') return fields;
  return nullable((value) => (value as unknown[]).map(fields));
}

function mapOf(
  entries: unknown,
  { element: { name: key } }: SchemaTree,
  { element: { name: item } }: SchemaTree,
  read: CellReader | null,
): ReadonlyMap<unknown, unknown> {
  const list = (entries ?? []) as readonly Readonly<Record<string, unknown>>[];
  return new Map(
    list.map((entry) => [entry[key], read === null ? (entry[item] ?? null) : read(entry[item])]),
  );
}

/** Reads an object with these fields. */
function fieldReader(children: readonly SchemaTree[]): CellReader | null {
  const readers = new Map(children.map((child) => [child.element.name, readerOf(child)]));
  if ([...readers.values()].every((reader) => reader === null)) return null;
  return nullable((value) => mapValues(value as object, (key) => readers.get(key) ?? null));
}

function leafReader(element: SchemaElement): CellReader | null {
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

function nullable(read: CellReader): CellReader {
  return (value) => (value === null || value === undefined ? null : read(value));
}

function mapValues(value: object, readerFor: (key: string) => CellReader | null): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const read = readerFor(key);
      return [key, read === null ? (item ?? null) : read(item)];
    }),
  );
}

function isTime({ type, converted_type, logical_type }: SchemaElement): boolean {
  const isLogical = logical_type?.type === 'DATE' || logical_type?.type === 'TIMESTAMP';
  return isLogical || type === 'INT96' || /^(?:DATE|TIMESTAMP_)/.test(converted_type ?? '');
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
