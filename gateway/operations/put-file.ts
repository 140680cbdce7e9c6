import { randomUUID } from 'node:crypto';
import { isStoredName } from '#catalogue/file-key.ts';
import { chunksUnsupported, payloadTooLarge, wrongContentType } from '#kernel/errors/catalogue.ts';
import { bytes } from '#kernel/json/schema.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import { curl } from '#server/openapi/curl.ts';
import { keptParameters, mustMayKeep, readKept } from '../access/kept-upload.ts';
import { mustFit } from '../access/upload-access.ts';
import type { RepeatedUpload } from '../access/upload-keys.ts';
import { assertPreconditions, hasPreconditions, validatorsOf } from '../download/conditional.ts';
import { draftFile } from '../files/file-draft.ts';
import { objectDescription } from '../files/object-description.ts';
import type { FileChecksums } from '../multipart/file-checksums.ts';
import { type BodyReader, type ObjectStage, receiveBody } from '../receive/receive-body.ts';
import {
  type OperationDefinition,
  readProjectSlug,
  sendingErrors,
  sendingParameters,
  storedAnswer,
} from './operation.ts';
import { announcedChecksums, cleaningUp, storeFile, type UploadDeps } from './upload.ts';

export const putFile: OperationDefinition<UploadDeps> = {
  summary: 'Upload a file as a plain body',
  description:
    'As `curl -T` does. The name in the address is the original name; each request stores a file of its own. Files called `upload`, `upload-link`, `resumable` or `_delete_` need another way.',
  access: 'optional',
  needs: { grant: 'files:write', touches: 'beside spaces' },
  parameters: [...sendingParameters, ...keptParameters],
  pathParameters: {
    name: {
      description: 'The name of the file to be stored',
      schema: { type: 'string', minLength: 1, maxLength: 1000 },
    },
  },
  body: { description: 'The bytes', content: { '*/*': { schema: bytes } } },
  answers: storedAnswer('What is known of the file'),
  errors: [...sendingErrors, 'invalid_options', 'precondition_failed', 'upload_conflict'],
  sample: (base) =>
    `echo hello > hello.txt\n${curl({ url: `${base}/_f_/demo/hello.txt`, more: ['-T hello.txt'] })}`,
  handler: (deps) => deps.access.counting(putFileOperation(deps)),
};

/** PUT /_f_/{project_slug}/{original name}: the body is the file, as `curl -T` sends it. */
function putFileOperation(deps: UploadDeps): Handler {
  const { maxUploadBytes } = deps;
  return cleaningUp(deps, async (request, behind) => {
    const { body, signal } = request;
    const projectSlug = readProjectSlug(request);
    const kept = readKept(request);
    const sent = request.header('content-type');
    // curl gives this type to everything that it sends by --data-binary
    const contentType =
      kept === null && sent?.trim() === 'application/x-www-form-urlencoded' ? undefined : sent;
    if (kept === null && contentType !== undefined && /^\s*multipart\//i.test(contentType))
      throw wrongContentType('that of the file: a form is sent by POST');
    // RFC 9110 section 14.5: a PUT of a part would be stored as a whole
    if (request.header('content-range') !== undefined) throw chunksUnsupported('the header Content-Range');
    const checksums = announcedChecksums(request);
    const length = body.contentLength ?? 0;
    if (length > maxUploadBytes) throw payloadTooLarge(maxUploadBytes, 'File');
    const grant = await deps.access.begin(request, projectSlug);
    if (kept !== null) mustMayKeep(grant, projectSlug);
    const { userId } = grant;
    await checkPreconditions(deps, request, { userId, projectSlug });
    const store = async (keyed: RepeatedUpload | null) => {
      const draft = draftFile(
        { fileName: kept?.originalName ?? request.params.name ?? '', contentType, name: kept?.name },
        { id: keyed?.id ?? randomUUID(), deploymentId: deps.deploymentId, ownerId: userId, projectSlug },
      );
      mustFit(grant, draft.contentType, length);
      if (keyed === null) await deps.quota.check(userId, length, signal);
      const received = await receiveBody({
        ...{ body, signal, behind },
        rules: deps.store,
        memory: deps.memory,
        digests: deps.digests,
        account: userId,
        maxBodyBytes: grant.maxBytes,
        reader(object) {
          deps.uploads.begin(request, draft.objectKey);
          object.begin((stopped) => deps.store.create(draft.objectKey, objectDescription(draft), stopped));
          return plainReader(object, checksums);
        },
      });
      return storeFile(deps, request, { received, draft, behind, keyed, createdAt: kept?.createdAt });
    };
    return deps.keys.use(request, grant, store, kept);
  });
}

/** What a request says of the file at its address: there is one where that is the name of a stored file. */
async function checkPreconditions(
  { cloudFiles }: Pick<UploadDeps, 'cloudFiles'>,
  request: HttpRequest,
  { userId, projectSlug }: { readonly userId: string; readonly projectSlug: string },
): Promise<void> {
  const header = (name: string) => request.header(name);
  if (!hasPreconditions(header)) return;
  const { name = '' } = request.params;
  const file = isStoredName(name) ? await cloudFiles.findByName(name, request.signal) : null;
  const isOwn = file !== null && file.ownerId === userId && file.projectSlug === projectSlug;
  assertPreconditions(header, isOwn ? validatorsOf(file) : null);
}

/** Every byte of the body is one of the file. */
function plainReader(object: ObjectStage, checksums: FileChecksums): BodyReader {
  checksums.begin();
  return {
    feed(chunk) {
      checksums.update(chunk);
      object.write(chunk);
    },
    end: () => object.finish((crc32) => checksums.finish(crc32)),
  };
}
