import { ApiError } from '../../common/errors/api-error.ts';
import { invalidOptions, notAllowed, unsupportedMediaType } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest, HttpResponse } from '../../common/http/http-types.ts';
import {
  keyErrors,
  keyParameter,
  readIdempotencyKey,
  replayedHeader,
  replayedHeaders,
} from '../../common/http/idempotency-key.ts';
import { noStoreJson } from '../../common/http/no-store-json.ts';
import { jsonAnswer as jsonOk, queryParameter } from '../../common/openapi/api-operation.ts';
import { type FileReading, type ImportFormat, importFormats } from '../imports/file-records.ts';
import { jobJson } from '../imports/import-job.ts';
import { jobSchema, previewSchema } from '../imports/job-schema.ts';
import { type Preview, previewOf, structureIn } from '../imports/preview.ts';
import { readPath } from '../input/space-reference.ts';
import { spaceErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { type SpacePath, type Structure, structureText } from '../structure/structure.ts';
import { jsonHeaders } from './json-answer.ts';
import type { OperationCall, OperationDefinition } from './operation.ts';

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
  dryRun: {
    values: ['true', 'false'],
    description: 'Nothing is stored; the answer has the structure, and problems of the first 1,000 records',
  },
  unescapeFormulas: {
    values: ['true', 'false'],
    description: 'Takes the apostrophes off that an export with `$escapeFormulas` puts before texts',
  },
  header: { values: ['true', 'false'], description: 'Whether the first line of CSV names fields' },
} as const;
type Choice = keyof typeof choices;

/** POST /{project}/{space}/_import_: begins an import of the records of a file, and answers its job. */
export const importFile: OperationDefinition = {
  async run(call, { imports }) {
    const { request } = call;
    const path = readPath(request.params);
    const found = await storedSpace(call, path);
    const asked = choicesOf(request);
    const reading = readingOf(asked, request.header('content-type'), imports.largestRecord);
    const key = readIdempotencyKey(request);
    // its outcome is the account's to see, and its file lies on the disk
    if (found?.bound !== undefined)
      throw notAllowed('An import is for access tokens of servers, which no rules bind');
    const file = await imports.receive(found?.ownerId ?? request.address, request.body);
    // the job counts its records when they are stored
    call.wrote(0);
    let isSubmitted = false;
    try {
      const structure = found?.structure ?? (await structureIn(file.path, path, reading));
      if (asked.dryRun === 'true')
        return previewAnswer(structure, await previewOf(file.path, structure, reading));
      const space = found ?? (await call.open(() => ({ path, structure })));
      const { projectSlug: project } = path;
      isSubmitted = true;
      const skips = asked.onError === 'skip';
      const { job, isReplayed } = await imports.submit(
        { space, project, reading, skips, key },
        file,
        request.signal,
      );
      return {
        status: 202,
        headers: { ...jsonHeaders, location: `/_jobs_/${job.id}`, ...(isReplayed ? replayedHeader : {}) },
        body: JSON.stringify(jobJson(job)),
      };
    } finally {
      if (!isSubmitted) await imports.drop(file);
    }
  },
  isRecord: false,
  summary: 'Import records',
  description:
    'From CSV, NDJSON or JSON, also compressed with gzip. A space that is not there is made, with the structure that the first records have. The answer is a job that goes on by itself; `GET /_jobs_/{id}` says how far it is. All records appear at one moment.',
  spaceHeaders: 'creation',
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
    200: jsonOk('With `dryRun`', previewSchema),
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

/** The space with its stored structure; null: there is none. */
async function storedSpace({ open }: OperationCall, path: SpacePath): Promise<RecordSpace | null> {
  try {
    const space = await open(() => ({ path, structure: null }));
    return space.missing ? null : space;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function previewAnswer(structure: Structure, { records, problems }: Preview): HttpResponse {
  const shown = JSON.parse(structureText(structure)) as object;
  return noStoreJson({ structure: shown, records, problems });
}

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
  { format, delimiter, header, unescapeFormulas }: Partial<Record<Choice, string>>,
  contentType: string | undefined,
  largest: number,
): FileReading {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const known = (format as ImportFormat | undefined) ?? mediaTypes[mediaType];
  if (known === undefined)
    throw unsupportedMediaType(
      `An import is ${importFormats.join(', ')}: say so by its Content-Type, or by format`,
    );
  const unescapesFormulas = unescapeFormulas === 'true';
  return {
    ...{ format: known, delimiter: delimiter ?? null, hasHeader: header !== 'false' },
    ...{ unescapesFormulas, largest },
  };
}
