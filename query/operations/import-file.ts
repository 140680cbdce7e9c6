import { assertBackup, assertGranted } from '#auth/authenticate.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { notAllowed, recordSpaceNotFound } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { inSpace, lackOf } from '#kernel/grants.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type SpacePath, type Structure, structureText } from '#records/structure/structure.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import {
  keyErrors,
  keyParameter,
  readIdempotencyKey,
  replayedHeader,
  replayedHeaders,
} from '#server/http/idempotency-key.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { type ApiParameter, jsonAnswer as jsonOk, queryParameter } from '#server/openapi/api-operation.ts';
import { wouldBeDeclared } from '../imports/jobs/declared-structure.ts';
import {
  assertConflict,
  choicesOf,
  describedChoices,
  type ImportChoices,
  readingOf,
} from '../imports/jobs/import-choices.ts';
import { jobJson } from '../imports/jobs/import-job.ts';
import { jobSchema, previewSchema } from '../imports/jobs/job-schema.ts';
import type { ReceivedFile } from '../imports/jobs/received-files.ts';
import { bodySource, chunksSource } from '../imports/jobs/spool-body.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import type { Preview } from '../imports/thread/preview.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
import { readPath } from '../input/space-reference.ts';
import { spaceErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonHeaders } from './json-answer.ts';
import type { OperationCall, OperationDefinition, QueryParts } from './operation.ts';

/** POST /{project}/{space}/_import_: starts an import of the records of a file, and answers its job. */
export const importFile: OperationDefinition = {
  async run(call, deps) {
    const { imports } = deps;
    const { request } = call;
    const path = readPath(request.params);
    const stored = await storedSpace(call, path);
    const choices = choicesOf(request.query);
    const key = readIdempotencyKey(request);
    // only the account may see its outcome, and its file takes disk space
    if (stored?.bound !== undefined)
      throw notAllowed("Requests that rules bind can't import: use a secret access token");
    const { dryRun, onConflict } = choices;
    const isDeclared = Boolean(request.header('structure'));
    const isDry = dryRun !== 'false';
    const existing = isDeclared && !isDry ? await call.open() : stored;
    const declared = isDeclared && isDry ? await declaredStructure(call, deps, path, stored) : undefined;
    const { file, reading, ownerId } = await receiveFile(call, deps, choices, existing);
    // the job counts its records itself, once they are stored
    call.wrote(0);
    let isSubmitted = false;
    try {
      const preview = (isStart: boolean): Promise<Preview> => {
        // a structure without fields gets those of the file
        const known = declared ?? existing?.structure;
        const structure = known === undefined || known.fields.length === 0 ? null : known;
        return imports.preview(
          ownerId,
          { path: file.path, reading, structure, place: path, isStart, isDry },
          request.signal,
        );
      };
      if (isDry) return previewAnswer(await preview(dryRun === 'start'));
      const shape = existing === null ? await preview(false) : null;
      const space = existing ?? (await makeSpace(call, path, choices, (shape as Preview).structure));
      const remarks = (shape?.remarks ?? []).map(({ column, reason }) => `${shownName(column)} ${reason}`);
      const { projectSlug: project } = path;
      isSubmitted = true;
      const { job, isReplayed } = await imports.submit(
        { space, project, reading, skips: choices.onError === 'skip', onConflict, isDeclared, key, remarks },
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
  id: 'importRecords',
  summary: 'Import records',
  description:
    'From CSV, NDJSON, JSON, Parquet or Arrow; text formats may be compressed with gzip. A missing space is created, with the structure of the request or one inferred from the first records. The answer is a job that runs in the background; `GET /_jobs_/{id}` reports its progress. All records appear at once.',
  spaceHeaders: 'creation',
  parameters: (space) => [
    ...space.structureHeaders.filter(({ name }) => name === 'structure').map(declaredHeader),
    ...describedChoices.map(({ name, description, schema }) => queryParameter(name, description, schema)),
    keyParameter,
  ],
  file: [
    'text/csv',
    'application/x-ndjson',
    'application/json',
    'application/vnd.apache.parquet',
    'application/vnd.apache.arrow.file',
  ],
  answers: {
    200: jsonOk('With `dryRun`', previewSchema),
    202: {
      description: 'The job',
      headers: {
        Location: { description: 'The address of the job', schema: { type: 'string' }, always: true },
        ...replayedHeaders,
      },
      content: { 'application/json': { schema: jobSchema } },
    },
  },
  errors: [
    ...spaceErrors,
    ...keyErrors,
    'not_found',
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

/** The space with its stored structure; null: it does not exist. */
async function storedSpace({ open }: OperationCall, path: SpacePath): Promise<RecordSpace | null> {
  try {
    const space = await open(() => ({ path, structure: null }));
    return space.missing ? null : space;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

async function makeSpace(
  { open }: OperationCall,
  path: SpacePath,
  choices: ImportChoices,
  structure: Structure,
): Promise<RecordSpace> {
  assertConflict(choices, structure);
  return open(() => ({ path, structure }));
}

/** The structure that the import would use. A dry run changes nothing, so it is not stored. */
async function declaredStructure(
  call: OperationCall,
  { structures }: Pick<QueryParts, 'structures'>,
  path: SpacePath,
  stored: RecordSpace | null,
): Promise<Structure> {
  const { request } = call;
  const { mutate, autoCreateRecordSpace } = readRecordHeaders(request);
  const { projectSlug: project, slug: space } = path;
  const { grants } = stored ?? (await call.authenticate());
  // without the grant the request can't change the structure
  if (grants !== undefined && lackOf(grants, inSpace('structure'), { project, space }) !== null)
    return (await call.open()).structure;
  const requested = structures.read(request.header('structure'), path);
  if (stored !== null) return wouldBeDeclared(stored.stored, requested, mutate);
  if (!autoCreateRecordSpace) throw recordSpaceNotFound(space, ', and auto-create-record-space is false');
  return requested;
}

function declaredHeader(header: ApiParameter): ApiParameter {
  const description =
    'The structure of the record space, as JSON. Without it the stored structure is used, or for a new space one inferred from the file';
  return { ...header, description };
}

interface ImportSource {
  readonly file: ReceivedFile;
  readonly reading: FileReading;
  readonly ownerId: string;
}

/** Puts the file of an import on the disk: the body, or an uploaded file of the project. Checks what it can before that. */
async function receiveFile(
  { request, authenticate }: OperationCall,
  { imports, files }: Pick<QueryParts, 'imports' | 'files'>,
  choices: ImportChoices,
  existing: RecordSpace | null,
): Promise<ImportSource> {
  const { signal } = request;
  const { projectSlug, slug: space } = readPath(request.params);
  const { userId: ownerId, grants } =
    existing === null ? await authenticate() : { ...existing, userId: existing.ownerId };
  // kept ids, times and hashes are taken as they are
  if (choices.keep.length > 0) assertBackup(grants, 'space', { project: projectSlug, space });
  if (existing !== null) assertConflict(choices, existing.structure);
  const { from } = choices;
  if (from === undefined) {
    const reading = readingOf(choices, request.header('content-type'), imports.largestRecord);
    const source = bodySource(request.body, imports.mostBytes);
    return { file: await imports.receive(ownerId, source), reading, ownerId };
  }
  assertGranted(grants, { grant: 'files:read', touches: 'beside spaces' }, { project: projectSlug });
  const object = await files.find({ ownerId, projectSlug, name: from }, signal);
  const reading = readingOf(choices, object.contentType, imports.largestRecord);
  const file = await imports.receive(ownerId, chunksSource(files.read(object, signal)));
  return { file, reading, ownerId };
}

function previewAnswer({ structure, ...preview }: Preview): HttpResponse {
  return noStoreJson({ structure: JSON.parse(structureText(structure)) as object, ...preview });
}
