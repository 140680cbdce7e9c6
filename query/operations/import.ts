import { invalidOptions, notAllowed, unsupportedMediaType } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import {
  keyErrors,
  keyParameter,
  readIdempotencyKey,
  replayedHeader,
  replayedHeaders,
} from '../../common/http/idempotency-key.ts';
import { queryParameter } from '../../common/openapi/api-operation.ts';
import { type FileReading, type ImportFormat, importFormats } from '../imports/file-records.ts';
import { jobJson } from '../imports/import-job.ts';
import { jobSchema } from '../imports/job-schema.ts';
import { readPath } from '../input/space-reference.ts';
import { spaceErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonHeaders } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

const mediaTypes: Readonly<Record<string, ImportFormat>> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/json': 'json',
};

const choices = {
  format: { values: importFormats, description: 'Of the file; absent: as the Content-Type says' },
  onError: {
    values: ['stop', 'skip'],
    description: '`stop`: all records are stored, or none; `skip`: those with problems are left out',
  },
  delimiter: { values: null, description: 'Between the cells of CSV; absent: as its first line has it' },
  header: { values: ['true', 'false'], description: 'Whether the first line of CSV names fields' },
} as const;
type Choice = keyof typeof choices;

/** POST /{project}/{space}/_import_: begins an import of the records of a file, and answers its job. */
export const importFile: OperationDefinition = {
  async run({ request, open, wrote }, { imports }) {
    const space = await open(() => ({ path: readPath(request.params), structure: null }));
    // its outcome is the account's to see, and its file lies on the disk
    if (space.bound !== undefined)
      throw notAllowed('An import is for access tokens of servers, which no rules bind');
    const asked = choicesOf(request);
    const reading = readingOf(asked, request.header('content-type'), imports.largestRecord);
    const key = readIdempotencyKey(request);
    const { project = '' } = request.params;
    const skips = asked.onError === 'skip';
    const { job, isReplayed } = await imports.submit(
      { space, project, reading, skips, key },
      request.body,
      request.signal,
    );
    // the job counts them when they are stored
    wrote(0);
    return {
      status: 202,
      headers: { ...jsonHeaders, location: `/_jobs_/${job.id}`, ...(isReplayed ? replayedHeader : {}) },
      body: JSON.stringify(jobJson(job)),
    };
  },
  isRecord: false,
  summary: 'Import records',
  description:
    'From CSV, NDJSON or JSON, also compressed with gzip. The answer is a job that goes on by itself; `GET /_jobs_/{id}` says how far it is. All records appear at one moment.',
  spaceHeaders: 'none',
  parameters: () => [
    ...Object.entries(choices).map(([name, { values, description }]) =>
      queryParameter(name, description, {
        type: 'string',
        ...(values === null ? { maxLength: 1 } : { enum: [...values] }),
      }),
    ),
    keyParameter,
  ],
  file: ['text/csv', 'application/x-ndjson', 'application/json'],
  answers: {
    202: {
      description: 'The job',
      headers: {
        Location: { description: 'Of the job', schema: { type: 'string' }, always: true },
        ...replayedHeaders,
      },
      content: { 'application/json': { schema: jobSchema } },
    },
  },
  errors: [
    ...spaceErrors,
    ...keyErrors,
    'invalid_options',
    'invalid_body',
    'payload_too_large',
    'unsupported_media_type',
    'storage_full',
  ],
  sample: {
    first: makePerson,
    more: ["-H 'Content-Type: text/csv'", "--data-binary $'name,age\\nGrace,45\\n'"],
  },
};

function choicesOf(request: HttpRequest): Partial<Record<Choice, string>> {
  const asked: Partial<Record<Choice, string>> = {};
  const problems: string[] = [];
  for (const [name, value] of request.query) {
    if (!Object.hasOwn(choices, name)) problems.push(`Query: ${shownName(name)} is no choice of an import`);
    else if (asked[name as Choice] !== undefined) problems.push(`Query: ${name} is given twice`);
    else {
      const { values } = choices[name as Choice];
      const isGood =
        values === null ? /^[^"\r\n]$/.test(value) : (values as readonly string[]).includes(value);
      if (!isGood)
        problems.push(
          `Query: ${name} is ${shownName(value)}: it should be ${values?.join(' or ') ?? 'one character'}`,
        );
      asked[name as Choice] = value;
    }
  }
  if (problems.length > 0) throw invalidOptions(problems);
  return asked;
}

function readingOf(
  { format, delimiter, header }: Partial<Record<Choice, string>>,
  contentType: string | undefined,
  largest: number,
): FileReading {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const known = (format as ImportFormat | undefined) ?? mediaTypes[mediaType];
  if (known === undefined)
    throw unsupportedMediaType(
      `An import is ${importFormats.join(', ')}: say so by its Content-Type, or by format`,
    );
  return { format: known, delimiter: delimiter ?? null, hasHeader: header !== 'false', largest };
}
