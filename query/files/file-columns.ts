import { textLiteral } from '#engine/literal.ts';
import type { Field } from '#records/structure/field.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type FieldType, type TypedField, typeEntry } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { type FileReading, namedTwice, noField, sameField } from '../imports/thread/file-records.ts';
import { isRoundedSql, isVanishingSql } from './cell-types.ts';

/** A file as a table of the engine. */
export interface FileTable {
  readonly structure: Structure;
  readonly columns: readonly FileColumn[];
  /** Begins statements with the expressions. */
  readonly with: string;
  /** The expressions of its columns, each under the name of its slot. */
  readonly selected: string;
  /** The FROM of a statement. @param location where this statement finds the file */
  readonly from: (location: FileLocation) => string;
  /** The settings of a statement. */
  readonly settings: string;
}

/** Where the engine finds a file. */
export interface FileLocation {
  readonly kind: 'file' | 'url';
  /** A path or URL. */
  readonly address: string;
}

/** Runs a statement with a small result. */
export type FetchRows = <Row>(sql: string) => Promise<readonly Row[]>;

export interface FileColumn extends TypedField {
  readonly name: string;
  readonly sql: string;
  readonly unfits?: readonly Unfit[];
  /** The name in a Parquet file of a column that may hold null lists, maps or structs; absent: it holds none. */
  readonly nullable?: string;
}

/** A condition for values that an import refuses, and why, as the end of a sentence. */
export interface Unfit {
  readonly sql: string;
  readonly reason: string;
}

export const mostColumns = 2000;

/** `file` or `url`: https://clickhouse.com/docs/sql-reference/table-functions. */
export function tableFunctionSql(
  { kind, address }: FileLocation,
  format: string,
  structure: string,
  isGzip: boolean,
): string {
  return `${kind}(${[address, format, structure, isGzip ? 'gzip' : 'none'].map(textLiteral).join(', ')})`;
}

/** In text files: the reader of imports finds the line and the reason (first-problem.ts). */
export const wrongType = 'is not of its type';

/** A column of texts that are JSON of a type. @param sql the text, or NULL @param reason why another text is unfit */
export function jsonColumn(name: string, type: FieldType, sql: string, reason: string): FileColumn {
  const text = `assumeNotNull(${sql})`;
  const isJson = `(startsWith(${text}, '${type === fileTypes.list.type ? '[' : '{'}') AND isValidJSON(${text}))`;
  return {
    name,
    type,
    sql: `nullIf(JSONExtractRaw(ifNull(${sql}, '')), '')`,
    unfits: [
      { sql: `isNotNull(${sql}) AND NOT ${isJson}`, reason },
      {
        sql: hasRoundedSql(`ifNull(${sql}, '')`),
        reason: `${reason}: one of its numbers has more digits than a NUMBER can hold`,
      },
    ],
  };
}

/** Whether a JSON text has a number that a double would round, or make 0. The first regex rejects most texts. */
function hasRoundedSql(json: string): string {
  const withoutTexts = `replaceRegexpAll(${json}, ${textLiteral('"(?:[^"\\\\]|\\\\.)*"')}, '')`;
  const numbers = `extractAll(${withoutTexts}, '-?[0-9][0-9.eE+-]*')`;
  const isChanged = `${isRoundedSql('n')} OR ${isVanishingSql('n', 'toFloat64OrZero(n)')}`;
  return `match(${json}, '[0-9]{16}|[eE]-[0-9]{3}') AND arrayExists(n -> ${isChanged}, ${numbers})`;
}

const thrown = /\bunfit value of column (\d+)\b/;

/** The value of a column. An unfit value fails the statement. */
function checkedSql({ sql, unfits = [] }: FileColumn, index: number): string {
  if (unfits.length === 0) return sql;
  const isUnfit = unfits.map(({ sql }) => `ifNull(${sql}, 0)`).join(' OR ');
  return `if(throwIf(${isUnfit}, 'unfit value of column ${index}') = 0, ${sql}, NULL)`;
}

/** The column that an error of the engine is about; null: it is about something else. */
export function unfitColumn({ columns }: FileTable, message: string): FileColumn | null {
  const [, index] = thrown.exec(message) ?? [];
  return index === undefined ? null : (columns[Number(index)] ?? null);
}

/**
 * Columns under the names that `columns` of a reading gives them. Throws a FileProblem as an import does whose structure has
 * the columns of the table. @param line of the names; null: the format has no lines
 */
export function renamed(
  columns: readonly FileColumn[],
  { columns: names }: Pick<FileReading, 'columns'>,
  line: number | null,
): readonly FileColumn[] {
  const chosen = Object.entries(names);
  if (chosen.length === 0) return columns;
  const all = columns.map((column): FileColumn => {
    const name = Object.hasOwn(names, column.name) ? names[column.name] : null;
    return { ...column, name: name ?? column.name };
  });
  const seen = new Set<string>();
  for (const { name } of all) {
    if (seen.has(name)) throw new FileProblem(line, sameField(name));
    seen.add(name);
  }
  for (const [column, name] of chosen)
    if (name !== null && !seen.has(name)) throw new FileProblem(null, noField(column, name));
  return all;
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
  const fields = columns.map(({ name, type, precision, scale }, index): Field => {
    if (seen.has(name)) throw new FileProblem(null, namedTwice(name, null));
    seen.add(name);
    // here a column may have as many digits as the engine's numbers
    const slot = `${typeEntry(type).column({ precision: 1, scale: 0 })}${index}`;
    return {
      name,
      slug: name,
      type,
      ...(precision === undefined || scale === undefined ? {} : { precision, scale }),
      slot,
      description: '',
      comment: '',
      defaultValue: null,
      required: false,
      unique: false,
      hashed: false,
      keyed: false,
    };
  });
  const structure = createStructure({
    name: null,
    description: null,
    projectSlug: '',
    slug: '',
    clear: false,
    webhooks: null,
    fields,
  });
  return {
    structure: { ...structure, ofFile: true },
    columns,
    selected: columns
      .map((column, index) => `${checkedSql(column, index)} AS ${fields[index]?.slot}`)
      .join(', '),
  };
}
