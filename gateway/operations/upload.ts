import { randomUUID } from 'node:crypto';
import { chunksUnsupported, payloadTooLarge, unsupportedCoding } from '#kernel/errors/catalogue.ts';
import { bytes, string } from '#kernel/json/schema.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { declaredCoding } from '#server/http/content-coding.ts';
import type { Handler, HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { withLifetime } from '../access/file-lifetime.ts';
import { assertFits, type UploadAccess, type UploadGrant, verifiedType } from '../access/upload-access.ts';
import type { RepeatedUpload, UploadKeys } from '../access/upload-keys.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Digests } from '../digest/file-digests.ts';
import { draftFile, type FileDraft } from '../files/file-draft.ts';
import { InspectedDraft } from '../files/inspected-draft.ts';
import {
  propertiesOfQuery,
  propertyNames,
  propertyParameters,
  readProperties,
  type SentProperties,
} from '../files/sent-properties.ts';
import type { FolderPlaces } from '../folders/folder-places.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import { readBoundary } from '../multipart/boundary.ts';
import { announcedChecksums, digestNames, type FileChecksums } from '../multipart/file-checksums.ts';
import { type FilePart, receiveFile } from '../multipart/receive-file.ts';
import {
  checksums,
  type OperationDefinition,
  sendingErrors,
  sendingParameters,
  storedAnswer,
  uploadSample,
} from './operation.ts';
import { inspected, type StoreFileDeps, storeFile } from './store-file.ts';
import { type OnCleanup, trackUpload } from './track-upload.ts';

/** Most bytes of a form besides its file: boundaries, headers, other fields. */
export const formOverheadBytes = 1024 * 1024;
/** Headers of the request that describe the file, not the whole form. */
const formHeaders = ['content-md5', 'x-checksum-crc32'] as const;

export interface UploadDeps extends StoreFileDeps {
  /** The first segment of every object key. */
  readonly deploymentId: string;
  readonly access: UploadAccess;
  readonly cloudFiles: Pick<CloudFiles, 'announce' | 'findByName' | 'insert'>;
  readonly places: FolderPlaces;
  readonly store: Pick<ObjectStore, 'create' | 'delete' | 'partBytes' | 'concurrentParts' | 'shortParts'>;
  readonly memory: UploadMemory;
  readonly digests: Digests;
  readonly keys: UploadKeys;
  readonly maxUploadBytes: number;
}

export const upload: OperationDefinition<UploadDeps> = {
  summary: 'Upload a file',
  description:
    'The file is durable once the request is answered. Other parts of the form are ignored. The project is created if it does not exist.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [...sendingParameters, ...propertyParameters],
  body: {
    description: 'A form with the file and its file name in the part `file`',
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          required: ['file'],
          properties: {
            ...{ 'Content-MD5': string, 'x-checksum-crc32': string },
            ...{ folder: string, path: string, expiresIn: string },
            file: bytes,
          },
        },
        partHeaders: { file: checksums },
      },
    },
  },
  answers: storedAnswer('The stored file'),
  errors: [
    ...sendingErrors,
    'invalid_options',
    'not_found',
    'file_exists',
    'missing_file_part',
    'unsupported_media_type',
  ],
  sample: uploadSample,
  handler: (deps) => deps.access.refundOnFailure(uploadOperation(deps)),
};

/** POST /_f_/{project_slug}/upload (interface.md section 4.1). */
export function uploadOperation(deps: UploadDeps): Handler {
  return trackUpload(deps, (request, onCleanup) => storeUpload(deps, request, onCleanup));
}

async function storeUpload(
  deps: UploadDeps,
  request: HttpRequest,
  onCleanup: OnCleanup,
): Promise<HttpResponse> {
  const projectSlug = readProjectSlug(request);
  const boundary = readBoundary(request.header('content-type'));
  if (request.header('content-range') !== undefined) throw chunksUnsupported('the header Content-Range');
  if (declaredCoding(request) !== null) throw unsupportedCoding('');
  const checksums = announcedChecksums(request, formHeaders);
  const bodyChecksums = announcedChecksums(request, digestNames);
  const maxBodyBytes = deps.maxUploadBytes + formOverheadBytes;
  if ((request.body.contentLength ?? 0) > maxBodyBytes) throw payloadTooLarge(deps.maxUploadBytes, 'File');
  // the body is not read before the token has been checked
  const grant = await deps.access.begin(request, projectSlug);
  const form = { grant, projectSlug, boundary, checksums, bodyChecksums, maxBodyBytes, onCleanup };
  return deps.keys.use(request, grant, (keyed) => storeForm(deps, request, { keyed, ...form }));
}

interface FormUpload {
  readonly grant: UploadGrant;
  readonly projectSlug: string;
  readonly boundary: string;
  readonly checksums: FileChecksums;
  readonly bodyChecksums: FileChecksums;
  readonly maxBodyBytes: number;
  readonly onCleanup: OnCleanup;
  readonly keyed: RepeatedUpload | null;
}

async function storeForm(deps: UploadDeps, request: HttpRequest, form: FormUpload): Promise<HttpResponse> {
  const { grant, boundary, checksums, bodyChecksums, maxBodyBytes, onCleanup, keyed } = form;
  const { userId, bound } = grant;
  const leastBytes = Math.max(0, (request.body.contentLength ?? 0) - formOverheadBytes);
  // with a key the file may be stored, and counted, already
  if (keyed === null) await deps.quota.check(userId, leastBytes, request.signal);

  const id = keyed?.id ?? randomUUID();
  const sent = propertiesOfQuery(request);
  const found: { inspection?: InspectedDraft } = {};
  const received = await receiveFile({
    boundary,
    checksums,
    bodyChecksums,
    fields: propertyNames,
    body: request.body,
    rules: deps.store,
    memory: deps.memory,
    digests: deps.digests,
    scanner: deps.checks?.scanner,
    account: userId,
    maxFileBytes: grant.maxBytes,
    maxBodyBytes,
    signal: request.signal,
    onCleanup,
    begin: async (part, signal, head) => {
      const draft = await draftOfPart(deps, form, { part, sent, id, signal });
      assertFits(grant, draft, leastBytes);
      deps.checks?.assertTakes(leastBytes);
      deps.uploads.begin(request, draft.objectKey);
      const inspection = new InspectedDraft(draft, verifiedType(grant));
      found.inspection = inspection;
      return deps.store.create(draft.objectKey, await inspection.description(head), signal);
    },
  });
  const { file: draft, sizes } = await inspected(found.inspection as InspectedDraft, received, onCleanup);
  return storeFile(deps, request, { received, draft, sizes, onCleanup, keyed, bound });
}

/** @param args.sent the properties in the query */
async function draftOfPart(
  { places, deploymentId }: Pick<UploadDeps, 'places' | 'deploymentId'>,
  { grant, projectSlug, keyed }: FormUpload,
  args: {
    readonly part: FilePart;
    readonly sent: SentProperties;
    readonly id: string;
    readonly signal: AbortSignal;
  },
): Promise<FileDraft> {
  const { part, id, signal } = args;
  const { fileName, contentType, fields } = part;
  const { userId: ownerId, bound } = grant;
  let { sent } = args;
  if (fields.size > 0) sent = { ...sent, ...readProperties((name) => fields.get(name)) };
  if (sent.folder !== undefined) {
    const file = { ownerId, projectSlug, fileName, bound };
    // a repeated upload is at its path already
    sent = await (keyed === null ? places.place(sent, file, signal) : places.inFolder(sent, file, signal));
  }
  const described = withLifetime(grant, { ...sent, fileName, contentType });
  return draftFile(described, { id, deploymentId, ownerId, owner: bound?.user ?? undefined, projectSlug });
}
