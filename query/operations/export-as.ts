import { assertBackup } from '#auth/authenticate.ts';
import { invalidOptions, notAllowed } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Schema, string } from '#kernel/json/schema.ts';
import { targetOf } from '#records/input/filters/names.ts';
import { asJsonArray } from '#records/json-array.ts';
import {
  columnNames,
  csvColumns,
  type ExportColumns,
  escapeFormula,
  jsonLines,
  tableColumns,
} from '#records/sql/export-columns.ts';
import { type RecordParts, recordParts, wholeRecord } from '#records/structure/record-parts.ts';
import type { Structure } from '#records/structure/structure.ts';
import { contentDisposition } from '#server/http/content-disposition.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { queryParameter } from '#server/openapi/api-operation.ts';
import { acceptQuery } from '../input/query-media-type.ts';
import { parseRequestConditions, readRequestConditions } from '../input/request-conditions.ts';
import { readPath } from '../input/space-reference.ts';
import { conditionErrors, spaceErrors } from '../openapi/describe-operation.ts';
import { controlParameters } from '../openapi/filter-schemas.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import type { OperationDefinition } from './operation.ts';

type Bytes = AsyncIterable<Uint8Array>;

interface Format {
  readonly mediaType: string;
  readonly schema: Schema;
  readonly choices: readonly Choice[];
  columns(shown: RecordParts, choices: Choices): ExportColumns;
  /** Wraps the bytes of the engine; absent: they are sent as they are. */
  wrap?(bytes: Bytes, shown: RecordParts, choices: Choices): Bytes;
}

/** Query parameters that only some formats have. */
const choiceWords = {
  $bom: 'A byte order mark',
  $escapeFormulas: 'Puts a quote before texts that a spreadsheet would take for formulas',
  $hashes: 'Also exports hashed fields, as hashes. Needs the grant backup',
};
type Choice = keyof typeof choiceWords;
type Choices = Readonly<Record<Choice, boolean>>;

const binary: Schema = { type: 'string', format: 'binary' };

const formats = {
  csv: {
    mediaType: 'text/csv; charset=utf-8; header=present',
    schema: string,
    choices: ['$bom', '$escapeFormulas', '$hashes'],
    columns: (shown, { $escapeFormulas }) => csvColumns(shown, { isEscaped: $escapeFormulas }),
    wrap: withHeader,
  },
  ndjson: {
    mediaType: 'application/x-ndjson; charset=utf-8',
    schema: string,
    choices: [],
    columns: (shown) => jsonLines(shown, ''),
  },
  json: {
    mediaType: 'application/json; charset=utf-8',
    schema: { type: 'array', items: { type: 'object', additionalProperties: true } },
    choices: [],
    columns: (shown) => jsonLines(shown, ','),
    wrap: asJsonArray,
  },
  parquet: {
    mediaType: 'application/vnd.apache.parquet',
    schema: binary,
    choices: ['$hashes'],
    columns: (shown) => tableColumns(shown, 'Parquet'),
  },
  arrow: {
    mediaType: 'application/vnd.apache.arrow.file',
    schema: binary,
    choices: ['$hashes'],
    columns: (shown) => tableColumns(shown, 'Arrow'),
  },
} satisfies Record<string, Format>;

export type ExportFormat = keyof typeof formats;
export const exportFormats = Object.keys(formats) as readonly ExportFormat[];

const parameters = controlParameters.filter(({ name }) => name !== '$count');

/** GET /{project}/{space}/_export_.{format}: all records that match, as a file. */
export function exportAs(name: ExportFormat): OperationDefinition {
  const format: Format = formats[name];
  const { mediaType } = format;
  return {
    async run({ request, open, body }, { exports }) {
      const space = await open(() => ({ path: readPath(request.params), structure: null }));
      const { structure } = space;
      const requested = await readRequestConditions(request, body);
      const { choices, query } = splitChoices(request.query, structure, format.choices);
      const { options, conditions } = parseRequestConditions(requested, request, structure, query);
      const { sort, page, select } = options;
      const { projectSlug: project, slug } = structure;
      if (choices.$hashes && space.bound !== undefined) throw notAllowed('Hashes are for servers');
      if (choices.$hashes) assertBackup(space.grants, 'space', { project, space: slug });
      const selected = select ?? wholeRecord(structure);
      const shown = choices.$hashes ? withHashes(selected, structure) : selected;
      const plan = { sort, page, select, conditions };
      const bytes = await exports.read(space, plan, format.columns(shown, choices), request.signal);
      return {
        status: 200,
        headers: {
          'content-type': mediaType,
          'content-disposition': contentDisposition('attachment', `${space.stored.slug}.${name}`),
          'cache-control': 'no-store',
          ...acceptQuery,
        },
        body: { chunks: format.wrap?.(bytes, shown, choices) ?? bytes },
      };
    },
    summary: `Export records as ${names[name]}`,
    description:
      'The records that match, as a file. Each appears once, even if records are written meanwhile.',
    spaceHeaders: 'none',
    options: true,
    parameters: ({ conditions }) => [
      ...conditions,
      ...parameters,
      ...format.choices.map((key) =>
        queryParameter(key, choiceWords[key], { type: 'string', enum: ['true', 'false'] }),
      ),
    ],
    answers: {
      200: {
        description: 'The file',
        content: { [mediaType.split(';')[0] as string]: { schema: format.schema } },
      },
    },
    errors: [...spaceErrors, ...conditionErrors, 'query_too_expensive', 'storage_full'],
    sample: { first: makePerson, more: [`-o people.${name}`] },
  };
}

const names: Readonly<Record<ExportFormat, string>> = {
  csv: 'CSV',
  ndjson: 'NDJSON',
  json: 'JSON',
  parquet: 'Parquet',
  arrow: 'Arrow',
};

/** Takes the choices of a format out of a query. A field of the same name takes precedence. */
function splitChoices(
  query: HttpRequest['query'],
  structure: Structure,
  known: readonly Choice[],
): { readonly choices: Choices; readonly query: HttpRequest['query'] } {
  const choices = { $bom: false, $escapeFormulas: false, $hashes: false };
  const isChoice = (key: string): key is Choice =>
    (known as readonly string[]).includes(key) && targetOf(key, structure) === null;
  for (const [key, value] of query) {
    if (!isChoice(key)) continue;
    if (value !== 'true' && value !== 'false')
      throw invalidOptions([`Options: ${key} is ${shownName(value)}: it should be true or false`]);
    choices[key] = value === 'true';
  }
  return { choices, query: query.filter(([key]) => !isChoice(key)) };
}

function withHashes({ parts }: RecordParts, { fields }: Structure): RecordParts {
  const hashed = fields.filter((field) => field.hashed);
  return recordParts([...parts, ...hashed.map((target) => ({ target, path: [] }))]);
}

async function* withHeader(bytes: Bytes, shown: RecordParts, choices: Choices): AsyncGenerator<Uint8Array> {
  const { $bom, $escapeFormulas } = choices;
  const names = columnNames(shown);
  const cells = ($escapeFormulas ? names.map(escapeFormula) : names).map(
    (column) => `"${column.replaceAll('"', '""')}"`,
  );
  yield Buffer.from(`${$bom ? '\ufeff' : ''}${cells.join(',')}\r\n`);
  yield* bytes;
}
