import { invalidOptions, unsupportedMediaType } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Schema } from '#kernel/json/schema.ts';
import { parseOnConflict } from '#records/input/parse-on-conflict.ts';
import type { Structure } from '#records/structure/structure.ts';
import { isObject } from '#records/types/is-object.ts';
import { TimeZone } from '#records/types/time-zone.ts';
import { type ImportFormat, importFormats } from '../formats/source-records.ts';
import type { CellWords } from '../thread/cell-words.ts';
import type { FileReading } from '../thread/file-records.ts';
import { type KeepOption, keepOptions } from '../thread/system-values.ts';
import type { ConflictRule } from './import-job.ts';

const mediaTypes: Readonly<Record<string, ImportFormat>> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/json': 'json',
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.apache.arrow.file': 'arrow',
  'application/vnd.apache.arrow.stream': 'arrow',
};

/** Formats by file extension; `.gz` and `.zst` are ignored. */
const endings: Readonly<Record<string, ImportFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  parquet: 'parquet',
  arrow: 'arrow',
  feather: 'arrow',
};

const names = {
  format: 'The format of the file; absent: from the Content-Type, or the name of an uploaded file',
  from: 'The name of an uploaded file of the project, instead of a body',
  onError: '`stop`: all records are stored, or none; `skip`: records with problems are left out',
  onConflict:
    'JSON: `{"field": ..., "do": "update" | "skip"}`, as for inserts. `update` needs `onError=skip`',
  columns:
    'JSON: the field of each column or key, by its name; null: left out. Other columns go to the field of the same name',
  keep: 'What records keep: any of id, createdAt, updatedAt and hashes, separated by commas. Needs the grant backup',
  dryRun:
    'Nothing is stored; the answer has the structure, some rows, and problems of the first 1,000 records. `start`: the body is only the beginning of a file',
  delimiter: 'The delimiter of CSV; absent: guessed from its first lines',
  nulls: 'Unquoted words of CSV that mean null, separated by commas, such as `NA,NULL,\\N`',
  true: 'Words of CSV for true, separated by commas. The opposites of t, y, yes, on and 1 are then false',
  false: 'Words of CSV for false, separated by commas',
  decimal: 'The decimal separator of CSV: `.` or `,`',
  nan: '`null`: NaN and infinite numbers of Parquet and Arrow become null',
  timeZone: 'The time zone of times that have none, such as Europe/Paris; absent: they are a problem',
  header: 'Whether the first line of CSV has the column names',
  unescapeFormulas: 'Removes the apostrophes that an export with `$escapeFormulas` adds to texts',
} as const;
type Name = keyof typeof names;

const yesOrNo = ['true', 'false'];
const among: Partial<Record<Name, readonly string[]>> = {
  format: importFormats,
  onError: ['stop', 'skip'],
  dryRun: [...yesOrNo, 'start'],
  decimal: ['.', ','],
  nan: ['null'],
  header: yesOrNo,
  unescapeFormulas: yesOrNo,
};

/** Choices that a query of a file as a table also takes. */
const tableNames = [
  'columns',
  'delimiter',
  'nulls',
  'true',
  'false',
  'decimal',
  'nan',
  'timeZone',
] as const satisfies readonly Name[];

export const describedChoices = Object.entries(names).map(([name, description]) => {
  const values = among[name as Name];
  const schema: Schema = {
    type: 'string',
    ...(values && { enum: [...values] }),
    ...(name === 'delimiter' && { maxLength: 1 }),
  };
  return { name, description, schema };
});

export const describedTableChoices = describedChoices.filter(({ name }) => isTableName(name));

function isTableName(name: string): boolean {
  return (tableNames as readonly string[]).includes(name);
}

/** The parsed query of an import request. */
export interface ImportChoices {
  readonly format?: ImportFormat;
  readonly from?: string;
  readonly onError: 'stop' | 'skip';
  readonly onConflict: ConflictRule | null;
  readonly columns: FileReading['columns'];
  readonly keep: readonly KeepOption[];
  readonly dryRun: 'true' | 'false' | 'start';
  readonly delimiter: string | null;
  readonly nulls: readonly string[];
  readonly words: CellWords;
  readonly nan: 'null' | undefined;
  readonly timeZone: string | undefined;
  readonly header: boolean;
  readonly unescapeFormulas: boolean;
}

/** Throws a 400 that lists every problem. */
export function choicesOf(query: Iterable<readonly [name: string, value: string]>): ImportChoices {
  const params: Partial<Record<Name, string>> = {};
  const problems: string[] = [];
  for (const [name, value] of query) {
    if (!Object.hasOwn(names, name))
      problems.push(`Query: ${shownName(name)} is not a parameter of an import`);
    else if (params[name as Name] !== undefined) problems.push(`Query: ${name} is given twice`);
    else params[name as Name] = value;
  }
  const refuse = (name: Name, should: string): void => {
    problems.push(`Query: ${name} is ${shownName(params[name] ?? '')}: it should be ${should}`);
  };
  for (const [name, values] of Object.entries(among) as [Name, readonly string[]][])
    if (params[name] !== undefined && !values.includes(params[name])) refuse(name, values.join(' or '));
  if (params.delimiter !== undefined && !/^[^"\r\n]$/.test(params.delimiter))
    refuse('delimiter', 'one character');
  const keep = params.keep === undefined ? [] : params.keep.split(',');
  if (!keep.every((name) => (keepOptions as readonly string[]).includes(name)))
    refuse('keep', `some of ${keepOptions.join(', ')}, separated by commas`);
  const columns = jsonOf(params.columns ?? '{}');
  if (
    !isObject(columns) ||
    !Object.values(columns).every((name) => name === null || typeof name === 'string')
  )
    refuse('columns', 'a JSON object whose values are names of fields, or null');
  for (const name of ['nulls', 'true', 'false'] as const)
    if (/["\r\n]|^$/.test(params[name] ?? '-')) refuse(name, 'words, separated by commas');
  if (params.timeZone !== undefined && TimeZone.named(params.timeZone) === null)
    refuse('timeZone', 'the name of a time zone, such as Europe/Paris');
  const onConflict = params.onConflict === undefined ? null : jsonOf(params.onConflict);
  if (params.onConflict !== undefined && !isConflict(onConflict))
    refuse('onConflict', 'a JSON object with field, and with do, which is update or skip');
  if (isConflict(onConflict) && onConflict.do === 'update' && params.onError !== 'skip')
    problems.push(
      'Query: onConflict with update needs onError=skip: updates of stored records can not be undone',
    );
  if (problems.length > 0) throw invalidOptions(problems);
  const { format, from, onError = 'stop', dryRun = 'false', delimiter = null } = params;
  return {
    ...(format === undefined ? {} : { format: format as ImportFormat }),
    ...(from === undefined ? {} : { from }),
    onError: onError as 'stop' | 'skip',
    onConflict: onConflict as ConflictRule | null,
    columns: columns as ImportChoices['columns'],
    keep: [...new Set(keep)] as KeepOption[],
    dryRun: dryRun as ImportChoices['dryRun'],
    delimiter,
    nulls: wordsOf(params.nulls),
    words: {
      ...(params.true !== undefined && { true: wordsOf(params.true) }),
      ...(params.false !== undefined && { false: wordsOf(params.false) }),
      ...(params.decimal === ',' && { decimal: params.decimal }),
    },
    nan: params.nan as 'null' | undefined,
    timeZone: params.timeZone,
    header: params.header !== 'false',
    unescapeFormulas: params.unescapeFormulas === 'true',
  };
}

function wordsOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(',').filter((word) => word !== '');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isConflict(value: unknown): value is ConflictRule {
  return (
    isObject(value) &&
    typeof value.field === 'string' &&
    (value.do === 'update' || value.do === 'skip') &&
    Object.keys(value).length === 2
  );
}

/** Throws a 400 if the field of `onConflict` is not unique. */
export function assertConflict({ onConflict }: ImportChoices, structure: Structure): void {
  if (onConflict !== null) parseOnConflict(JSON.stringify({ onConflict }), structure);
}

/** The format of a media type; undefined: it is not known. */
export function formatOfType(contentType: string | undefined): ImportFormat | undefined {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  return mediaTypes[mediaType];
}

/**
 * How to read the file. Throws a 415 if its format is unknown.
 * @param contentType of the body, or of the uploaded file
 */
export function readingOf(
  choices: ImportChoices,
  contentType: string | undefined,
  largest: number,
): FileReading {
  const { format, from, delimiter, header: hasHeader, unescapeFormulas, columns, keep } = choices;
  const ending = /\.([a-z]+)(?:\.(?:gz|zst))?$/i.exec(from ?? '')?.[1]?.toLowerCase() ?? '';
  const knownFormat = format ?? endings[ending] ?? formatOfType(contentType);
  if (knownFormat === undefined)
    throw unsupportedMediaType(
      `that of ${importFormats.join(', ')}, such as text/csv, unless the query says the format, such as ?format=csv`,
    );
  return {
    format: knownFormat,
    delimiter,
    hasHeader,
    unescapesFormulas: unescapeFormulas,
    columns,
    keep,
    largest,
    ...cellChoices(choices),
  };
}

function cellChoices({
  nulls,
  words,
  nan,
  timeZone,
}: Pick<ImportChoices, 'nulls' | 'words' | 'nan' | 'timeZone'>): Pick<
  FileReading,
  'nulls' | 'words' | 'nanIsNull' | 'timeZone'
> {
  return {
    ...(nulls.length > 0 && { nulls }),
    ...(Object.keys(words).length > 0 && { words }),
    ...(nan === 'null' && { nanIsNull: true }),
    ...(timeZone !== undefined && { timeZone }),
  };
}

type QueryPairs = readonly (readonly [name: string, value: string])[];

/** How to read a file as a table, and the rest of the query. Throws a 400 that lists every problem. */
export function tableReading(
  query: QueryPairs,
  { name }: { readonly name: 'CSV' | 'NDJSON' | 'Parquet' },
  largest: number,
): { readonly reading: FileReading; readonly rest: QueryPairs } {
  const choices = choicesOf(query.filter(([name]) => isTableName(name)));
  const { delimiter, columns, keep } = choices;
  if (delimiter !== null && delimiter.charCodeAt(0) > 0x7f)
    throw invalidOptions(['Query: delimiter should be an ASCII character: only imports read others']);
  const format = name.toLowerCase() as ImportFormat;
  const reading: FileReading = {
    format,
    delimiter,
    hasHeader: true,
    unescapesFormulas: false,
    columns,
    keep,
    largest,
    ...cellChoices(choices),
  };
  return { reading, rest: query.filter(([name]) => !isTableName(name)) };
}
