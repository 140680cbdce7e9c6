import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { type S3Context, tryCommand, trySendOrNull } from './s3-context.ts';
import { isRefusal } from './s3-failure.ts';
import { listUploads } from './s3-list.ts';
import { isUploadOver } from './s3-list-parts.ts';
import { headRequest } from './s3-requests.ts';
import type { S3Request } from './s3-sender.ts';

/** The remains of a failed writer. */
export interface Leftovers {
  readonly key: string;
  readonly uploadId?: string | undefined;
  /** An upload with an unknown id may have been begun. */
  readonly unknownUpload?: boolean;
  /** The upload of the key that is not a remain. */
  readonly keptUpload?: string | undefined;
  /** Abandoned parts may arrive after the abort, and Versity then recreates the upload. */
  readonly lateParts?: boolean;
  /** The object may have become visible. */
  readonly object?: boolean;
}

/** How often a removal is checked before the store is believed. */
const rounds = 5;

/**
 * Removes the remains of a writer, with its own deadline, because the failed request may be over. No client waits for it.
 * Never rejects: failed removals are logged, and left to the janitor.
 */
export async function removeLeftovers(context: S3Context, leftovers: Leftovers): Promise<void> {
  const { cleanups, log } = context;
  const begun = await cleanups.run(() => takeBack(context, leftovers));
  if (!begun) log.warn(leftovers, 'a failed object is left to the janitor: too many cleanups are running');
}

async function takeBack(context: S3Context, leftovers: Leftovers): Promise<void> {
  const { key, uploadId, unknownUpload = false, keptUpload, lateParts = false, object = false } = leftovers;
  const steps: [what: string, needed: boolean, remove: (signal: AbortSignal) => Promise<void>][] = [
    [
      'upload',
      uploadId !== undefined,
      (signal) => dropUpload(context, { key, uploadId: uploadId ?? '', lateParts }, signal),
    ],
    ['unknown upload', unknownUpload, (signal) => dropUploadsOf(context, { key, keptUpload }, signal)],
    // last: removing the upload settles a complete that is still running on the server
    ['object', object, (signal) => dropObject(context, key, signal)],
  ];
  const { cleanup } = context.timing;
  for (const [what, needed, remove] of steps) {
    if (!needed) continue;
    try {
      await withDeadline(undefined, cleanup, (attempt) => remove(attempt.signal));
    } catch (err) {
      context.log.warn({ key, uploadId, what, err }, 'a failed object could not be cleaned up');
    }
  }
}

/**
 * "If any part uploads are currently in progress, those part uploads might or might not succeed. As a result, it might
 * be necessary to abort a given multipart upload multiple times in order to completely free all storage":
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
 */
export async function dropUpload(
  context: S3Context,
  { key, uploadId, lateParts = false }: { key: string; uploadId: string; lateParts?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const request: S3Request = {
    operation: 'AbortMultipartUpload',
    method: 'DELETE',
    key,
    query: { uploadId },
  };
  for (let round = 0; round < rounds; round++) {
    if (round > 0) await sleep(context.timing.firstPause * 2 ** round, undefined, { signal });
    const aborted = (await trySendOrNull(context, request, signal)) === null;
    if (lateParts && round === 0) continue;
    if (aborted) return;
    try {
      if (await isUploadOver(context, { key, uploadId }, signal)) return;
    } catch (error) {
      // without the right to list parts, the second abort is believed
      if (!isRefusal(error)) throw error;
      if (round > 0) return;
    }
  }
  throw new StoreUnavailable(`the upload of ${JSON.stringify(key)} is still there`);
}

/** The uploads of a key: if an id got lost with an answer or a process, the unique key still finds the upload. */
async function dropUploadsOf(
  context: S3Context,
  { key, keptUpload }: Pick<Leftovers, 'key' | 'keptUpload'>,
  signal: AbortSignal,
): Promise<void> {
  for await (const upload of listUploads(context, key, signal)) {
    if (upload.key === key && upload.id !== keptUpload)
      await dropUpload(context, { key, uploadId: upload.id }, signal);
  }
}

/** Removes the object until it is gone: an abandoned request may take effect a little later. */
async function dropObject(context: S3Context, key: string, signal: AbortSignal): Promise<void> {
  const command = new DeleteObjectCommand({ Bucket: context.bucket, Key: key });
  for (let round = 0; round < rounds; round++) {
    if (round > 0) await sleep(context.timing.firstPause * 2 ** round, undefined, { signal });
    await tryCommand(context, command, signal);
    if ((await trySendOrNull(context, headRequest(key), signal)) === null) return;
  }
  throw new Error('the object is still there');
}
