import type { Attempt } from '#kernel/limits/deadline.ts';
import type { S3Context } from './s3-context.ts';
import { isNotFound, isRefusal, S3Failure } from './s3-failure.ts';
import { isUploadOver, type UploadName } from './s3-list-parts.ts';
import type { S3Timing } from './s3-options.ts';
import type { RetryLimits } from './s3-retry.ts';
import { type S3Request, textBody } from './s3-sender.ts';
import { documentIn, escapeXml, xmlText } from './s3-xml.ts';

/** A part in the document of CompleteMultipartUpload. */
export interface CompletedPart {
  /** From 1. */
  readonly number: number;
  readonly etag: string;
  /** Elements such as ChecksumCRC32, with their texts. */
  readonly checksums?: Readonly<Record<string, string>>;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html */
export function completeRequest(
  { key, uploadId }: UploadName,
  parts: readonly CompletedPart[],
  headers: Readonly<Record<string, string>> = {},
): S3Request {
  let document = '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">';
  for (const { number, etag, checksums = {} } of parts) {
    document += `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag>`;
    for (const [name, text] of Object.entries(checksums)) document += `<${name}>${escapeXml(text)}</${name}>`;
    document += '</Part>';
  }
  document += '</CompleteMultipartUpload>';
  return {
    operation: 'CompleteMultipartUpload',
    method: 'POST',
    key,
    query: { uploadId },
    headers: { 'content-type': 'application/xml', ...headers },
    body: textBody(document),
    // the attempt has a deadline
    quiet: 0,
  };
}

/**
 * "Processing of a CompleteMultipartUpload request could take several minutes to finalize". AWS sends spaces meanwhile;
 * other servers are silent, and giving up early would complete the upload twice.
 */
export function completeLimits({ request, quiet, settle }: S3Timing): RetryLimits {
  return { total: 2 * request, attempt: 2 * quiet, grace: settle };
}

/** Sends CompleteMultipartUpload once. */
export async function sendCompletion(
  context: S3Context,
  request: S3Request,
  attempt: Attempt,
): Promise<void> {
  const answer = documentIn(await context.send(request, attempt));
  // Ceph may answer with an empty ETag
  if (xmlText(answer, 'ETag') !== undefined || xmlText(answer, 'Key') !== undefined) return;
  throw new S3Failure(200, 'InternalError', 'the answer to CompleteMultipartUpload says nothing');
}

/**
 * One attempt to complete an upload. False: there is no such upload (any more), perhaps because an earlier attempt has
 * completed it. Rejects with the original failure.
 * @param send calls `sendCompletion`
 * @param isFirst no attempt came before
 */
export async function attemptCompletion(
  context: S3Context,
  upload: UploadName,
  attempt: Attempt,
  { send, isFirst }: { readonly send: () => Promise<void>; readonly isFirst: boolean },
): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    if (isRefusal(error) || isFirst) throw error;
    // Ceph keeps answering 500 for an upload that no longer exists
    if (await isUploadOver(context, upload, attempt.signal).catch(() => false)) return false;
    throw error;
  }
}
