import { invalidOptions, unsupportedMediaType } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Schema } from '#kernel/json/schema.ts';
import { parseOnConflict } from '#records/input/parse-on-conflict.ts';
import { isObject } from '#records/structure/is-object.ts';
import type { Structure } from '#records/structure/structure.ts';
import { type ImportFormat, importFormats } from '../formats/source-records.ts';
import type { CellWords } from '../thread/cell-words.ts';
import type { FileReading } from '../thread/file-records.ts';
import { type Kept, keptNames } from '../thread/kept-values.ts';
import type { AskedConflict } from './import-job.ts';

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

/** Formats by the ends of names, without that of a compression. */
const endings: Readonly<Record<string, ImportFormat>> = {
  ...{ csv: 'csv', tsv: 'csv', txt: 'csv', json: 'json', ndjson: 'ndjson', jsonl: 'ndjson' },
  ...{ parquet: 'parquet', arrow: 'arrow', feather: 'arrow' },
};

const names = {
  format: 'Of the file; absent: as the Content-Type says, or the name of an uploaded file',
  from: 'The name of an uploaded file of the project, instead of a body',
  onError: '`stop`: all records are stored, or none; `skip`: those with problems are left out',
  onConflict:
    'JSON: `{"field": ..., "do": "update" | "skip"}`, as for inserts. `update` needs `onError=skip`',
  columns:
    'JSON: fields of columns, or keys, by their names; null: left out. Others are fields of their own names',
  keep: 'Of id, createdAt, updatedAt and hashes, with commas: what records keep. It needs the grant backup',
  dryRun:
    'Nothing is stored; the answer has the structure, some rows, and problems of the first 1,000 records. `start`: the file is only the beginning of one',
  delimiter: 'Between the cells of CSV; absent: the likeliest one of its first lines',
  nulls: 'Words of CSV without quotes that are no value, with commas, such as `NA,NULL,\\N`',
  true: 'Words of CSV for true, with commas. Those for false are the opposites of t, y, yes, on and 1',
  false: 'Words of CSV for false, with commas',
  decimal: 'Before the fraction of a number of CSV: `.` or `,`',
  nan: '`null`: numbers of Parquet and Arrow that are NaN or infinite are no value',
  header: 'Whether the first line of CSV names fields',
  unescapeFormulas: 'Takes the apostrophes off that an export with `$escapeFormulas` puts before texts',
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

/** Those that a query of a file as a table has, too. */
const tableNames = [
  'delimiter',
  'nulls',
  'true',
  'false',
  'decimal',
  'nan',
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

/** What the query of an import says. */
export interface ImportChoices {
  readonly format?: ImportFormat;
  readonly from?: string;
  readonly onError: 'stop' | 'skip';
  readonly onConflict: AskedConflict | null;
  readonly columns: FileReading['columns'];
  readonly keep: readonly Kept[];
  readonly dryRun: 'true' | 'false' | 'start';
  readonly delimiter: string | null;
  readonly nulls: readonly string[];
  readonly words: CellWords;
  readonly nan: 'null' | undefined;
  readonly header: boolean;
  readonly unescapeFormulas: boolean;
}

/** Throws a 400 that lists every problem. */
export function choicesOf(query: Iterable<readonly [name: string, value: string]>): ImportChoices {
  const asked: Partial<Record<Name, string>> = {};
  const problems: string[] = [];
  for (const [name, value] of query) {
    if (!Object.hasOwn(names, name)) problems.push(`Query: ${shownName(name)} is no choice of an import`);
    else if (asked[name as Name] !== undefined) problems.push(`Query: ${name} is given twice`);
    else asked[name as Name] = value;
  }
  const refuse = (name: Name, should: string): void => {
    problems.push(`Query: ${name} is ${shownName(asked[name] ?? '')}: it should be ${should}`);
  };
  for (const [name, values] of Object.entries(among) as [Name, readonly string[]][])
    if (asked[name] !== undefined && !values.includes(asked[name])) refuse(name, values.join(' or '));
  if (asked.delimiter !== undefined && !/^[^"\r\n]$/.test(asked.delimiter))
    refuse('delimiter', 'one character');
  const keep = asked.keep === undefined ? [] : asked.keep.split(',');
  if (!keep.every((name) => (keptNames as readonly string[]).includes(name)))
    refuse('keep', `some of ${keptNames.join(', ')}, with commas`);
  const columns = jsonOf(asked.columns ?? '{}');
  if (
    !isObject(columns) ||
    !Object.values(columns).every((name) => name === null || typeof name === 'string')
  )
    refuse('columns', 'an object of JSON with names of fields, or null');
  for (const name of ['nulls', 'true', 'false'] as const)
    if (/["\r\n]|^$/.test(asked[name] ?? '-')) refuse(name, 'words, with commas between them');
  const onConflict = asked.onConflict === undefined ? null : jsonOf(asked.onConflict);
  if (asked.onConflict !== undefined && !isConflict(onConflict))
    refuse('onConflict', 'an object of JSON with field and do, which is update or skip');
  if (isConflict(onConflict) && onConflict.do === 'update' && asked.onError !== 'skip')
    problems.push(
      'Query: onConflict with update needs onError=skip: a changed record can not be changed back',
    );
  if (problems.length > 0) throw invalidOptions(problems);
  const { format, from, onError = 'stop', dryRun = 'false', delimiter = null } = asked;
  return {
    ...(format === undefined ? {} : { format: format as ImportFormat }),
    ...(from === undefined ? {} : { from }),
    ...{ onError: onError as 'stop' | 'skip', dryRun: dryRun as ImportChoices['dryRun'], delimiter },
    ...{ onConflict: onConflict as AskedConflict | null, columns: columns as ImportChoices['columns'] },
    nulls: wordsOf(asked.nulls),
    words: {
      ...(asked.true !== undefined && { true: wordsOf(asked.true) }),
      ...(asked.false !== undefined && { false: wordsOf(asked.false) }),
      ...(asked.decimal === ',' && { decimal: asked.decimal }),
    },
    nan: asked.nan as 'null' | undefined,
    ...{ keep: [...new Set(keep)] as Kept[], header: asked.header !== 'false' },
    unescapeFormulas: asked.unescapeFormulas === 'true',
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

function isConflict(value: unknown): value is AskedConflict {
  return (
    isObject(value) &&
    typeof value.field === 'string' &&
    (value.do === 'update' || value.do === 'skip') &&
    Object.keys(value).length === 2
  );
}

/** Throws a 400 where the field is no unique one. */
export function assertConflict({ onConflict }: ImportChoices, structure: Structure): void {
  if (onConflict !== null) parseOnConflict(JSON.stringify({ onConflict }), structure);
}

/**
 * How the file is to be read. Throws a 415 where nobody says of what format it is.
 * @param contentType of the body, or of the uploaded file
 */
export function readingOf(
  choices: ImportChoices,
  contentType: string | undefined,
  largest: number,
): FileReading {
  const { format, from, delimiter, header: hasHeader, unescapeFormulas, columns, keep } = choices;
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const ending = /\.([a-z]+)(?:\.(?:gz|zst))?$/i.exec(from ?? '')?.[1]?.toLowerCase() ?? '';
  const known = format ?? endings[ending] ?? mediaTypes[mediaType];
  if (known === undefined)
    throw unsupportedMediaType(
      `that of ${importFormats.join(', ')}, such as text/csv, unless the query says the format, such as ?format=csv`,
    );
  return {
    ...{ format: known, delimiter, hasHeader, unescapesFormulas: unescapeFormulas, columns, keep, largest },
    ...cellChoices(choices),
  };
}

function cellChoices({
  nulls,
  words,
  nan,
}: Pick<ImportChoices, 'nulls' | 'words' | 'nan'>): Pick<FileReading, 'nulls' | 'words' | 'nanIsNull'> {
  return {
    ...(nulls.length > 0 && { nulls }),
    ...(Object.keys(words).length > 0 && { words }),
    ...(nan === 'null' && { nanIsNull: true }),
  };
}

type QueryPairs = readonly (readonly [name: string, value: string])[];

/** How a file is read as a table, and the rest of the query. Throws a 400 that lists every problem. */
export function tableReading(
  query: QueryPairs,
  { name }: { readonly name: 'CSV' | 'NDJSON' | 'Parquet' },
  largest: number,
): { readonly reading: FileReading; readonly rest: QueryPairs } {
  const choices = choicesOf(query.filter(([name]) => isTableName(name)));
  const { delimiter, columns, keep } = choices;
  if (delimiter !== null && delimiter.charCodeAt(0) > 0x7f)
    throw invalidOptions(['Query: delimiter should be a character of ASCII: only an import reads others']);
  const format = name.toLowerCase() as ImportFormat;
  const reading = {
    ...{ format, delimiter, hasHeader: true, unescapesFormulas: false, columns, keep, largest },
    ...cellChoices(choices),
  };
  return { reading, rest: query.filter(([name]) => !isTableName(name)) };
}
