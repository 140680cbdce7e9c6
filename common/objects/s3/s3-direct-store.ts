import { directPartLimits } from '#kernel/config/s3-part-sizes.ts';
import type {
  DirectStore,
  DirectUpload,
  PartToSend,
  ReadAddressOptions,
  SignedPut,
} from '../direct-store.ts';
import type { ObjectDescription } from '../object-description.ts';
import { assertObjectKey } from '../object-key.ts';
import { ofWholeCrc32c } from './s3-begin.ts';
import { dropUpload } from './s3-cleanup.ts';
import type { S3Context } from './s3-context.ts';
import { DirectProbe } from './s3-direct-probe.ts';
import { beginUpload, completeUpload, listUploadedParts, uploadName } from './s3-direct-uploads.ts';
import { withStorageErrors } from './s3-failure.ts';
import { inspectObject } from './s3-inspect.ts';
import { storedHeaders, storedMetadata } from './s3-metadata.ts';

const never = new AbortController().signal;

/** Presigned requests of a bucket, and the multipart uploads that clients fill with them. */
export function createS3DirectStore(context: S3Context): DirectStore {
  const probe = new DirectProbe(context);
  return {
    ...directPartLimits,
    abilities: (signal) => probe.abilities(signal),
    async begin(key, description, { checksums }, signal) {
      assertObjectKey(key);
      const headers = { ...headersOf(description), ...(checksums && ofWholeCrc32c) };
      return beginUpload(context, key, headers, signal);
    },
    putAddress: (upload, part, lifetime, signal = never) =>
      presignPut(context, { upload, part, lifetime }, signal),
    listParts: async (upload, signal) => listUploadedParts(context, uploadName(upload), signal),
    async complete(upload, parts, signal) {
      // MinIO and Versity refuse a list without the checksums that were sent with parts, and S3 one with more than those
      const named = upload.checksums ? parts : parts.map((part) => ({ ...part, crc32c: undefined }));
      return completeUpload(context, uploadName(upload), named, signal);
    },
    async abort(upload, signal) {
      const name = uploadName(upload);
      signal.throwIfAborted();
      await withStorageErrors('AbortMultipartUpload', name.key, signal, () =>
        dropUpload(context, name, signal),
      );
    },
    async inspect(key, signal) {
      assertObjectKey(key);
      return inspectObject(context, key, signal);
    },
    readAddress: (key, options, signal) => presignGet(context, { key, options }, signal),
  };
}

/** An object that is sent at once, or a part: S3 refuses a request that lacks a signed header. */
async function presignPut(
  { presign }: S3Context,
  args: { readonly upload: DirectUpload; readonly part: PartToSend; readonly lifetime: number },
  signal: AbortSignal,
): Promise<SignedPut> {
  const { upload, part, lifetime } = args;
  const { key, uploadId, description, checksums } = upload;
  assertObjectKey(key);
  const sent = uploadId === null ? headersOf(description) : {};
  if (uploadId === null) sent['if-none-match'] = '*';
  if (part.md5 !== undefined) sent['content-md5'] = part.md5;
  if (checksums && part.crc32c !== undefined) sent['x-amz-checksum-crc32c'] = part.crc32c;
  const query: Record<string, string> = uploadId === null ? {} : { partNumber: `${part.number}`, uploadId };
  // HTTP itself sends the length, and a page may not set it
  const headers = { 'content-length': `${part.size}`, ...sent };
  const { url } = await presign({ method: 'PUT', key, query, headers, lifetime }, signal);
  return { url, headers: sent };
}

async function presignGet(
  { presign }: S3Context,
  { key, options }: { readonly key: string; readonly options: ReadAddressOptions },
  signal: AbortSignal,
): Promise<string> {
  assertObjectKey(key);
  const query = {
    'response-content-type': options.contentType,
    'response-content-disposition': options.contentDisposition,
    'response-cache-control': options.cacheControl,
  };
  const { lifetime } = options;
  return (await presign({ method: 'GET', key, query, headers: {}, lifetime }, signal)).url;
}

/** The headers of PutObject and CreateMultipartUpload. */
function headersOf(description: ObjectDescription): Record<string, string> {
  const { served, contentType } = description;
  return storedHeaders({
    contentType: served?.contentType ?? contentType,
    contentDisposition: served?.contentDisposition,
    metadata: storedMetadata(description),
  });
}
