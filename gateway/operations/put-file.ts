import { randomUUID } from 'node:crypto';
import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { touchable } from '#catalogue/file-rules/touchable.ts';
import {
  chunksUnsupported,
  invalidOptions,
  payloadTooLarge,
  wrongContentType,
} from '#kernel/errors/catalogue.ts';
import { isUuid } from '#kernel/ids/is-uuid.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { curl } from '#server/openapi/curl.ts';
import { assertMayCopy, copyParameters, readCopy } from '../access/copy-upload.ts';
import { copyLifetime, withLifetime } from '../access/file-lifetime.ts';
import { assertFits, type UploadGrant, verifiedType } from '../access/upload-access.ts';
import type { RepeatedUpload } from '../access/upload-keys.ts';
import { assertPreconditions, hasPreconditions, validatorsOf } from '../download/conditional.ts';
import { draftFile, type FileDraft } from '../files/file-draft.ts';
import { InspectedDraft } from '../files/inspected-draft.ts';
import { propertiesOfQuery, propertyParameters, type SentProperties } from '../files/sent-properties.ts';
import { noSuchFolder } from '../folders/folder-places.ts';
import { readPath } from '../folders/read-place.ts';
import type { FileChecksums } from '../multipart/file-checksums.ts';
import { announcedChecksums } from '../multipart/file-checksums.ts';
import {
  type BodyReader,
  type ObjectStage,
  type ReceivedObject,
  receiveBody,
} from '../receive/receive-body.ts';
import {
  anyFile,
  type OperationDefinition,
  sendingErrors,
  sendingParameters,
  storedAnswer,
} from './operation.ts';
import { inspected, storeFile } from './store-file.ts';
import { type OnCleanup, trackUpload } from './track-upload.ts';
import type { UploadDeps } from './upload.ts';

/** Errors of a PUT, in a folder or not. */
export const putErrors = [
  ...sendingErrors,
  'invalid_options',
  'not_found',
  'file_exists',
  'file_in_use',
  'precondition_failed',
  'upload_conflict',
] as const;

export const putFile: OperationDefinition<UploadDeps> = {
  summary: 'Upload a file as a plain body',
  description:
    'As `curl -T` does. The name in the address is the original name; each request stores a new file. Files called `upload`, `upload-link`, `resumable` or `_delete_` have to be uploaded another way.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [...sendingParameters, ...propertyParameters, ...copyParameters],
  pathParameters: {
    name: {
      description: 'The original name of the file',
      schema: { type: 'string', minLength: 1, maxLength: 1000 },
    },
  },
  body: { description: 'The bytes', content: anyFile },
  answers: storedAnswer('The stored file'),
  errors: putErrors,
  sample: (base) =>
    `echo hello > hello.txt\n${curl({ url: `${base}/_f_/demo/hello.txt`, more: ['-T hello.txt'] })}`,
  handler: (deps) => deps.access.refundOnFailure(putFileOperation(deps)),
};

/** PUT /_f_/{project_slug}/{original name}: the body is the file, as `curl -T` sends it. */
export function putFileOperation(deps: UploadDeps): Handler {
  return trackUpload(deps, async (request, onCleanup) => {
    const { body, signal } = request;
    const projectSlug = readProjectSlug(request);
    const copy = readCopy(request);
    const contentType = readType(request, copy !== null);
    // RFC 9110 section 14.5: a partial PUT would be stored as a whole file
    if (request.header('content-range') !== undefined) throw chunksUnsupported('the header Content-Range');
    const checksums = announcedChecksums(request);
    const length = body.contentLength ?? 0;
    if (length > deps.maxUploadBytes) throw payloadTooLarge(deps.maxUploadBytes, 'File');
    const grant = await deps.access.begin(request, projectSlug);
    if (copy !== null) assertMayCopy(grant, projectSlug);
    const { fileName, ...properties } = readTarget(request);
    const { userId, bound } = grant;
    const owner = copy === null ? (bound?.user ?? undefined) : copy.owner;
    const replacement = properties.folder === undefined ? undefined : deps.places.replacement(request, grant);
    if (replacement === undefined) await checkPreconditions(deps, request, { userId, projectSlug, bound });
    const store = async (keyed: RepeatedUpload | null) => {
      const place = { ownerId: userId, projectSlug, fileName, bound };
      const placed = await deps.places.inFolder(properties, place, signal, copy !== null);
      // a repeated upload is at its path already
      if (replacement !== undefined && keyed === null)
        await deps.places.assertTakes(placed, signal, replacement.assertMayTake);
      const { deploymentId } = deps;
      const described = copy === null ? withLifetime(grant, placed) : copyLifetime(copy, placed);
      const draft = draftFile(
        { ...described, fileName: copy?.originalName ?? fileName, contentType, name: copy?.name },
        { id: keyed?.id ?? randomUUID(), deploymentId, ownerId: userId, owner, projectSlug },
      );
      assertFits(grant, draft, length, body.contentLength);
      deps.checks?.assertTakes(length);
      if (keyed === null) await deps.quota.check(userId, length, signal);
      const inspection = new InspectedDraft(draft, verifiedType(grant));
      const received = await receivePut(deps, request, { draft, inspection, checksums, grant, onCleanup });
      const { file, sizes } = await inspected(inspection, received, onCleanup);
      const ofCopy = { createdAt: copy?.createdAt };
      return storeFile(deps, request, {
        received,
        draft: file,
        sizes,
        onCleanup,
        keyed,
        bound,
        replacement,
        ...ofCopy,
      });
    };
    return deps.keys.use(request, grant, store, copy);
  });
}

interface ReceivedPut {
  readonly draft: FileDraft;
  readonly inspection: InspectedDraft;
  readonly checksums: FileChecksums;
  readonly grant: UploadGrant;
  readonly onCleanup: OnCleanup;
}

function receivePut(
  deps: UploadDeps,
  request: HttpRequest,
  { draft, inspection, checksums, grant, onCleanup }: ReceivedPut,
): Promise<ReceivedObject> {
  const { store, memory, digests, uploads, checks } = deps;
  return receiveBody({
    ...{ body: request.body, signal: request.signal, onCleanup, rules: store, memory, digests },
    scanner: checks?.scanner,
    account: grant.userId,
    maxBodyBytes: grant.maxBytes,
    reader(object) {
      uploads.begin(request, draft.objectKey);
      object.begin(async (stopped, head) =>
        store.create(draft.objectKey, await inspection.description(head), stopped),
      );
      return plainReader(object, checksums);
    },
  });
}

/** The name of the file, and its place in a folder: from the address, or from the query. Throws 400 and 404. */
function readTarget(request: HttpRequest): SentProperties & { readonly fileName: string } {
  const { name, folder, rest } = request.params;
  const sent = propertiesOfQuery(request);
  if (folder === undefined || rest === undefined) return { ...sent, fileName: name ?? '' };
  if (folder !== 'new' && !isUuid(folder)) throw noSuchFolder();
  if (sent.folder !== undefined || sent.path !== undefined)
    throw invalidOptions(['folder and path are in the address']);
  const path = readPath(rest);
  return { ...sent, folder, path, fileName: path.slice(path.lastIndexOf('/') + 1) };
}

/** The declared type; undefined: none. Throws 415 for a form. */
function readType(request: HttpRequest, isCopy: boolean): string | undefined {
  const sent = request.header('content-type');
  if (isCopy || sent === undefined) return sent;
  // curl sends this type with every --data-binary
  if (sent.trim() === 'application/x-www-form-urlencoded') return undefined;
  if (/^\s*multipart\//i.test(sent)) throw wrongContentType('the type of the file; send a form by POST');
  return sent;
}

/** Checks preconditions, which are about the file whose stored name is in the address, if there is one. */
async function checkPreconditions(
  { cloudFiles }: Pick<UploadDeps, 'cloudFiles'>,
  request: HttpRequest,
  {
    userId,
    projectSlug,
    bound,
  }: { readonly userId: string; readonly projectSlug: string; readonly bound: BoundSender | undefined },
): Promise<void> {
  const header = (name: string) => request.header(name);
  if (!hasPreconditions(header)) return;
  const { name = '' } = request.params;
  const file = isStoredName(name) ? await cloudFiles.findByName(name, request.signal) : null;
  const isOwn =
    file !== null &&
    file.ownerId === userId &&
    file.projectSlug === projectSlug &&
    touchable(bound, 'read')(file);
  assertPreconditions(header, isOwn ? validatorsOf(file) : null);
}

/** A reader for a body that is the file itself. */
export function plainReader(object: ObjectStage, checksums: FileChecksums): BodyReader {
  checksums.begin();
  return {
    feed(chunk) {
      checksums.update(chunk);
      object.write(chunk);
    },
    end: () => object.finish((crc32) => checksums.finish(crc32)),
  };
}
