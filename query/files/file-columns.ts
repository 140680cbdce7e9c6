import { textLiteral } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field, FieldType } from '#records/structure/field.ts';
import { slotKinds } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';

/** A file as the engine reads it. */
export interface FileTable {
  readonly structure: Structure;
  readonly columns: readonly FileColumn[];
  /** The expressions of its columns, each under the name of its slot. */
  readonly selected: string;
  /** What the engine reads. @param source of this statement's own */
  readonly from: (source: FileSource) => string;
  /** Settings. */
  readonly settings: string;
}

/** Where the engine finds the bytes. */
export interface FileSource {
  readonly kind: 'file' | 'url';
  readonly at: string;
}

/** Runs a statement with a small result. */
export type Rows = <Row>(sql: string) => Promise<readonly Row[]>;

export interface FileColumn {
  readonly name: string;
  readonly type: FieldType;
  readonly sql: string;
  /** Values that an import refuses, and why, as the end of a sentence. */
  readonly unfit?: { readonly sql: string; readonly reason: string };
}

/** Types of texts are those of their first rows. */
export const sampledRows = 25_000;
export const mostColumns = 2000;

export function sourceSql(
  { kind, at }: FileSource,
  format: string,
  structure: string,
  isGzip: boolean,
): string {
  return `${kind}(${[at, format, structure, isGzip ? 'gzip' : 'none'].map(textLiteral).join(', ')})`;
}

/** JSON text as the engine writes it, of a text that is JSON. */
export function compactJson(text: string): string {
  return `nullIf(JSONExtractRaw(ifNull(${text}, '')), '')`;
}

/** Whether a text that is not null is JSON of a type. */
export function isJsonSql(text: string, type: 'ARRAY' | 'OBJECT'): string {
  return `(startsWith(${text}, '${type === 'ARRAY' ? '[' : '{'}') AND isValidJSON(${text}))`;
}

const thrown = /\bunfit value of column (\d+)\b/;

/** The value of a column; one that is unfit ends the statement. */
function checkedSql({ sql, unfit }: FileColumn, index: number): string {
  if (unfit === undefined) return sql;
  return `if(throwIf(ifNull(${unfit.sql}, 0), 'unfit value of column ${index}') = 0, ${sql}, NULL)`;
}

/** Of the engine's message; null: it is about something else. */
export function unfitColumn({ columns }: FileTable, message: string): FileColumn | null {
  const [, index] = thrown.exec(message) ?? [];
  return index === undefined ? null : (columns[Number(index)] ?? null);
}

export function assertFew(columns: readonly unknown[]): void {
  if (columns.length > mostColumns)
    throw new FileProblem(null, `it has more than ${mostColumns.toLocaleString('en')} columns`);
}

export function tableOf(
  columns: readonly FileColumn[],
): Pick<FileTable, 'structure' | 'columns' | 'selected'> {
  if (columns.length === 0) throw new FileProblem(null, 'it has no columns');
  assertFew(columns);
  const seen = new Set<string>();
  const fields = columns.map(({ name, type }, index): Field => {
    if (seen.has(name)) throw new FileProblem(null, `two of its columns have the name ${shownName(name)}`);
    seen.add(name);
    const slot = `${slotKinds[type]}${index}`;
    return {
      ...{ name, slug: name, type, slot, description: '', comment: '', defaultValue: null },
      ...{ required: false, unique: false, hashed: false, keyed: false },
    };
  });
  const none = { name: null, description: null, projectSlug: '', slug: '', clear: false, webhooks: null };
  return {
    structure: { ...createStructure({ ...none, fields }), ofFile: true },
    columns,
    selected: columns
      .map((column, index) => `${checkedSql(column, index)} AS ${fields[index]?.slot}`)
      .join(', '),
  };
}
