import { smallestPart } from '#kernel/config/s3-part-sizes.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import type { DirectStore, DirectUpload } from '../direct-store.ts';
import type { ObjectDescription } from '../object-description.ts';
import { assertObjectKey } from '../object-key.ts';
import { beginRequest, ofWholeCrc32c, uploadIdIn } from './s3-begin.ts';
import { dropUpload, removeLeftovers } from './s3-cleanup.ts';
import { attemptCompletion, completeLimits, completeRequest, sendCompletion } from './s3-complete.ts';
import { type S3Context, trySend } from './s3-context.ts';
import { DirectProbe } from './s3-direct-probe.ts';
import { isRefusal, withStorageErrors } from './s3-failure.ts';
import { inspectObject, plainEtag } from './s3-inspect.ts';
import { isListed, listParts, type UploadName } from './s3-list-parts.ts';
import { storedHeaders, storedMetadata } from './s3-metadata.ts';
import { retrying } from './s3-retry.ts';

const gibibyte = 1024 ** 3;
const never = new AbortController().signal;

/** Presigned requests of a bucket, and the multipart uploads that clients fill with them. */
export function createS3DirectStore(context: S3Context): DirectStore {
  const { presign, timing } = context;
  const probe = new DirectProbe(context);
  return {
    smallestPart,
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
    largestPart: 5 * gibibyte,
    mostParts: 10_000,
    abilities: (signal) => probe.abilities(signal),
    async begin(key, description, { checksums }, signal) {
      assertObjectKey(key);
      return beginUpload(
        context,
        key,
        { ...headersOf(description), ...(checksums && ofWholeCrc32c) },
        signal,
      );
    },
    async putAddress(upload, { number, size, md5, crc32c }, lifetime, signal = never) {
      assertObjectKey(upload.key);
      const { uploadId, key } = upload;
      const headers = uploadId === null ? headersOf(upload.description) : {};
      if (uploadId === null) headers['if-none-match'] = '*';
      if (md5 !== undefined) headers['content-md5'] = md5;
      if (upload.checksums && crc32c !== undefined) headers['x-amz-checksum-crc32c'] = crc32c;
      // HTTP itself sends the length, and browsers don't let a page set it
      const signed = { 'content-length': `${size}`, ...headers };
      const query: Record<string, string> = uploadId === null ? {} : { partNumber: `${number}`, uploadId };
      const { url } = await presign({ method: 'PUT', key, query, headers: signed, lifetime }, signal);
      return { url, headers };
    },
    async listParts(upload, signal) {
      const name = nameOf(upload);
      const parts = await listParts(context, name, signal);
      if (parts?.length === 0 && !(await isMaybeOpen(context, name, signal))) return null;
      return parts?.map(({ number, size, etag }) => ({ number, size, etag: plainEtag(etag) })) ?? null;
    },
    async complete(upload, parts, signal) {
      const name = nameOf(upload);
      const request = completeRequest(
        name,
        parts.map(({ number, etag, crc32c }) => ({
          number,
          etag: `"${etag}"`,
          // MinIO and Versity refuse a list without the checksums that were sent with parts
          ...(upload.checksums && crc32c !== undefined && { checksums: { ChecksumCRC32C: crc32c } }),
        })),
      );
      let isFirst = true;
      return withStorageErrors(request.operation, name.key, signal, () =>
        retrying(timing, completeLimits(timing), signal, (attempt) => {
          const send = () => sendCompletion(context, request, attempt);
          const completed = attemptCompletion(context, name, attempt, { send, isFirst });
          isFirst = false;
          return completed;
        }),
      );
    },
    async abort(upload, signal) {
      const name = nameOf(upload);
      signal.throwIfAborted();
      await withStorageErrors('AbortMultipartUpload', name.key, signal, () =>
        dropUpload(context, name, signal),
      );
    },
    async inspect(key, signal) {
      assertObjectKey(key);
      return inspectObject(context, key, signal);
    },
    async readAddress(key, { contentType, contentDisposition, cacheControl, lifetime }, signal) {
      assertObjectKey(key);
      const query = {
        'response-content-type': contentType,
        'response-content-disposition': contentDisposition,
        'response-cache-control': cacheControl,
      };
      const { url } = await presign({ method: 'GET', key, query, headers: {}, lifetime }, signal);
      return url;
    },
  };
}

/** An upload whose id got lost with an answer is aborted: nobody could complete it. */
async function beginUpload(
  context: S3Context,
  key: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const { timing } = context;
  const limits = { total: timing.request, attempt: timing.quiet, grace: timing.settle };
  const request = beginRequest(key, headers);
  let unconfirmed = 0;
  const send: S3Context['send'] = async (sent, attempt) => {
    unconfirmed++;
    try {
      const answer = await context.send(sent, attempt);
      unconfirmed--;
      return answer;
    } catch (error) {
      if (isRefusal(error)) unconfirmed--;
      throw error;
    }
  };
  try {
    return await withStorageErrors(request.operation, key, signal, async () =>
      uploadIdIn(await trySend({ timing, send }, request, signal, limits)),
    );
  } catch (error) {
    if (unconfirmed > 0) void removeLeftovers(context, { key, unknownUpload: true });
    throw error;
  }
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

function nameOf({ key, uploadId }: DirectUpload): UploadName {
  assertObjectKey(key);
  if (uploadId === null) throw new Error('the object is sent at once, and has no parts');
  return { key, uploadId };
}

/** SeaweedFS lists no parts of an upload that is gone. Without the right to list uploads, the answer is believed. */
async function isMaybeOpen(context: S3Context, upload: UploadName, signal: AbortSignal): Promise<boolean> {
  try {
    return await isListed(context, upload, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreUnavailable) throw error;
    return true;
  }
}
