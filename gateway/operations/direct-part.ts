import { invalidHeader, linkRefused, notFound } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { noDigests } from '../digest/file-digests.ts';
import type { DirectUploads } from '../direct/direct-uploads.ts';
import type { AddressedPart, OwnDirectStore } from '../direct/own-direct-store.ts';
import { announcedChecksums } from '../multipart/file-checksums.ts';
import { partKey } from '../plans/direct-plan.ts';
import { receiveBody } from '../receive/receive-body.ts';
import { plainReader } from './put-file.ts';
import { trackUpload } from './track-upload.ts';
import type { UploadDeps } from './upload.ts';

export interface DirectPartDeps extends Pick<UploadDeps, 'store' | 'memory' | 'uploads' | 'deploymentId'> {
  readonly direct: Pick<DirectUploads, 'planOfPart'>;
  /** Null: clients reach the object store by themselves. */
  readonly ownDirect: OwnDirectStore | null;
}

const description = { contentType: 'application/octet-stream', metadata: {}, replaces: true } as const;

/** PUT /_f_/{project_slug}/direct/{id}/{number}: a part, by an address that `OwnDirectStore` signed. */
export function directPartOperation(deps: DirectPartDeps): Handler {
  const { store, memory, uploads, ownDirect, direct, deploymentId } = deps;
  return trackUpload(deps, async (request, onCleanup) => {
    const { body, signal } = request;
    const { part, expires, signature } = readPart(request, deploymentId);
    if (ownDirect === null || !(await ownDirect.isGood(part, { expires, signature })))
      throw linkRefused('The address has expired or is not valid');
    const { ownerId } = part.upload;
    body.identify(ownerId);
    if (body.contentLength !== part.size)
      throw invalidHeader([`Content-Length should be ${part.size}, the size of the part`]);
    await direct.planOfPart(part.upload, signal);
    const checksums = announcedChecksums(request);
    const key = partKey(part.upload, part.number);
    const received = await receiveBody({
      body,
      signal,
      onCleanup,
      rules: store,
      memory,
      digests: noDigests,
      account: ownerId,
      maxBodyBytes: part.size,
      reader(object) {
        uploads.begin(request, key);
        object.begin((stopped) => store.create(key, description, stopped));
        return plainReader(object, checksums);
      },
    });
    const { writer, last, release } = received;
    try {
      await writer.complete(last);
      release();
    } catch (error) {
      onCleanup(writer.abort().then(release));
      throw error;
    }
    const etag = await ownDirect.etagOf(part, signal);
    return { status: 200, headers: { etag: `"${etag}"`, 'cache-control': 'no-store' } };
  });
}

/** The part of an address. Throws 403 for an address that was not signed in this form. */
function readPart(
  request: HttpRequest,
  deploymentId: string,
): { readonly part: AddressedPart; readonly expires: string; readonly signature: string } {
  const projectSlug = readProjectSlug(request);
  const { name = '', number = '' } = request.params;
  const value = (wanted: string) => request.query.find(([name]) => name === wanted)?.[1] ?? '';
  const md5 = request.header('content-md5')?.trim();
  if (!isStoredName(name)) throw notFound('There is no such upload');
  const upload = { deploymentId, ownerId: value('owner'), projectSlug, name };
  const part = { upload, number: Number(number), size: Number(value('size')), ...(md5 && { md5 }) };
  return { part, expires: value('expires'), signature: value('signature') };
}
