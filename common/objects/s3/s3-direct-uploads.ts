import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import type { Attempt } from '#kernel/limits/deadline.ts';
import type { DirectStore, DirectUpload, UploadedPart } from '../direct-store.ts';
import { assertObjectKey } from '../object-key.ts';
import { plainEtag } from '../plain-etag.ts';
import { beginRequest, uploadIdIn } from './s3-begin.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import { attemptCompletion, completeLimits, completeRequest, sendCompletion } from './s3-complete.ts';
import type { S3Context } from './s3-context.ts';
import { isLasting, isRefusal, withStorageErrors } from './s3-failure.ts';
import { isListed, listParts, type UploadName } from './s3-list-parts.ts';
import { retrying } from './s3-retry.ts';

/** Begins a multipart upload. One whose id got lost with an answer is aborted: nobody could complete it. */
export async function beginUpload(
  context: S3Context,
  key: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const { timing } = context;
  const limits = { total: timing.request, attempt: timing.quiet, grace: timing.settle };
  const request = beginRequest(key, headers);
  let unconfirmed = 0;
  const begin = async (attempt: Attempt): Promise<string> => {
    unconfirmed++;
    try {
      const id = uploadIdIn(await context.send(request, attempt));
      unconfirmed--;
      return id;
    } catch (error) {
      if (isRefusal(error)) unconfirmed--;
      throw error;
    }
  };
  let uploadId: string | undefined;
  try {
    uploadId = await withStorageErrors(request.operation, key, signal, () =>
      retrying(timing, limits, signal, begin),
    );
    return uploadId;
  } finally {
    // after a success, an attempt before may have begun another one
    if (unconfirmed > 0) void removeLeftovers(context, { key, unknownUpload: true, keptUpload: uploadId });
  }
}

/** The parts without quotes around their ETags; null: there is no such upload. */
export async function listUploadedParts(
  context: S3Context,
  upload: UploadName,
  signal: AbortSignal,
): Promise<readonly UploadedPart[] | null> {
  const parts = await listParts(context, upload, signal);
  if (parts === null || (parts.length === 0 && !(await isMaybeOpen(context, upload, signal)))) return null;
  return parts.map(({ number, size, etag }) => ({ number, size, etag: plainEtag(etag) }));
}

/** See DirectStore.complete. */
export function completeUpload(
  context: S3Context,
  upload: UploadName,
  parts: Parameters<DirectStore['complete']>[1],
  signal: AbortSignal,
): Promise<boolean> {
  const { timing } = context;
  const listed = parts.map(({ number, etag, crc32c }) => ({
    number,
    etag: `"${etag}"`,
    ...(crc32c !== undefined && { checksums: { ChecksumCRC32C: crc32c } }),
  }));
  const request = completeRequest(upload, listed);
  let isFirst = true;
  return withStorageErrors(request.operation, upload.key, signal, () =>
    retrying(timing, completeLimits(timing), signal, (attempt) => {
      const send = () => sendCompletion(context, request, attempt);
      const completed = attemptCompletion(context, upload, attempt, { send, isFirst });
      isFirst = false;
      return completed;
    }),
  );
}

/** The upload's name in the store. */
export function uploadName({ key, uploadId }: DirectUpload): UploadName {
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
    if (error instanceof StoreUnavailable && isLasting(error.cause)) return true;
    throw error;
  }
}
