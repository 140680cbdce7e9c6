import { quoteIdentifier, textLiteral } from '#engine/literal.ts';
import type { Target } from '../structure/field.ts';
import type { RecordParts, ShownValue } from '../structure/record-parts.ts';
import { typeEntry } from '../types/field-types.ts';
import { recordExpression, valueSql } from './value-sql.ts';

/** A SELECT's columns, the engine's format for them, and its SETTINGS. */
export interface ExportColumns {
  readonly columns: string;
  readonly format: string;
  readonly settings: string;
}

/** Aliases are names of fields, but conditions mean columns. Larger sorts use the disk. */
const commonSettings = 'prefer_column_name_to_alias = 1, max_bytes_before_external_sort = 67108864';
/** Blocks for reading a table in its stored order: small records take a third of the time that usual blocks take. */
const blockSettings = 'max_block_size = 8192, preferred_block_size_bytes = 1048576';
/** https://clickhouse.com/docs/operations/settings/formats */
const csvSettings = `output_format_csv_crlf_end_of_line = 1, format_csv_null_representation = ''`;
/** Arrow without compression: it is meant to be mapped into memory, and not every reader supports compression. */
const tableSettings = `output_format_parquet_string_as_string = 1, output_format_arrow_string_as_string = 1,
  output_format_arrow_compression_method = 'none'`;

/** One column for each value: a number as a double, a time with its zone, an array or object as JSON text. */
export function tableColumns(shown: RecordParts, format: 'Parquet' | 'Arrow'): ExportColumns {
  const settings = `${commonSettings}, ${tableSettings}`;
  return { columns: columnsOf(shown, { text: asItIs, value: tableSql }), format, settings };
}

/** The same as CSV without a header (RFC 4180): a missing value is empty, and an empty text is two quotes. */
export function csvColumns(
  shown: RecordParts,
  { isEscaped }: { readonly isEscaped: boolean },
): ExportColumns {
  const settings = `${commonSettings}, ${blockSettings}, ${csvSettings}`;
  return {
    columns: columnsOf(shown, { text: isEscaped ? escapedSql : asItIs, value: shownSql }),
    format: 'CSV',
    settings,
  };
}

/** Each record as JSON on a line, as find answers it. @param prefix of each line */
export function jsonLines(shown: RecordParts, prefix: string): ExportColumns {
  const columns = `${recordExpression(shown, prefix)} AS _record`;
  return { columns, format: 'TSVRaw', settings: `${commonSettings}, ${blockSettings}` };
}

/** The columns of a table of records: names of fields, and paths within objects with dots. */
export function columnNames({ parts }: RecordParts): readonly string[] {
  return parts.map(({ target, path }) =>
    [typeof target === 'string' ? target : target.name, ...path].join('.'),
  );
}

/** What columns show. */
interface ShownAs {
  readonly text: (sql: string) => string;
  readonly value: (target: Target, sql: string) => string;
}

const asItIs = (sql: string): string => sql;

function columnsOf(shown: RecordParts, { text, value }: ShownAs): string {
  const names = columnNames(shown);
  return shown.parts
    .map((part, index) => {
      const sql = columnSql(part, value);
      return `${isText(part) ? text(sql) : sql} AS ${quoteIdentifier(names[index] as string)}`;
    })
    .join(', ');
}

function isText({ target }: ShownValue): boolean {
  return typeof target !== 'string' && typeEntry(target.type).engineType === 'String';
}

function columnSql({ target, path }: ShownValue, shownAs: ShownAs['value']): string {
  const value = valueSql(target);
  if (path.length === 0) return shownAs(target, value);
  const keys = path.map(textLiteral).join(', ');
  // texts are written as they are, other values as JSON
  return `multiIf(JSONType(${value}, ${keys}) = 'String', JSONExtractString(${value}, ${keys}),
    JSONType(${value}, ${keys}) = 'Null', NULL, JSONExtractRaw(${value}, ${keys}))`;
}

/** A value as Parquet and Arrow have it. */
function tableSql(target: Target, value: string): string {
  if (typeof target === 'string') return value;
  return typeEntry(target.type).tableSql?.(value, target) ?? value;
}

/** A value as CSV shows it: a text where its column is a whole number of the engine. */
function shownSql(target: Target, value: string): string {
  if (typeof target === 'string') return value;
  return typeEntry(target.type).textSql?.(value, target) ?? value;
}

/**
 * A spreadsheet takes a text that begins like this for a formula (https://owasp.org/www-community/attacks/CSV_Injection). It
 * gets an apostrophe in front, and so does a text that has apostrophes there already: an import can then remove one.
 */
const formula = /^'*[-=+@\t\r\n]/;
const escapedFormula = /^''*[-=+@\t\r\n]/;

export function escapeFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unescapeFormula(text: string): string {
  return escapedFormula.test(text) ? text.slice(1) : text;
}

function escapedSql(sql: string): string {
  return `if(match(${sql}, ${textLiteral(formula.source)}), concat('\\'', ${sql}), ${sql})`;
}
