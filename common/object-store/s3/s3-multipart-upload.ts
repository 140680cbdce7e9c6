import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListPartsCommand,
} from '@aws-sdk/client-s3';
import type { Part } from '../object-store.ts';
import { checksumText, withoutChecksumsIfRefused } from './s3-checksums.ts';
import { type S3Context, tryControl } from './s3-context.ts';
import { isRefusal, isStatus, S3Failure } from './s3-failure.ts';
import { writerIdOf } from './s3-metadata.ts';
import { retrying } from './s3-retry.ts';
import { countUnconfirmed, type Unconfirmed } from './s3-unconfirmed.ts';

/** What is written, and how it is recognised. */
export interface WriteTarget {
  readonly key: string;
  /** Also in the metadata. */
  readonly writerId: string;
  /** Of what the store itself serves. */
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  /** As stored. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Parts may be large, and S3 far away: a part may take a second more for each of these. Bytes. */
const bytesASecond = 1024 ** 2;

/** What a part may take with all its attempts. Milliseconds. */
export function partTime({ timing }: Pick<S3Context, 'timing'>, part: Pick<Part, 'size'>): number {
  return timing.request + Math.ceil((part.size / bytesASecond) * 1000);
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
export interface MultipartUpload {
  readonly id: string;
  /** Whether its parts have checksums. */
  readonly checksums: boolean;
  /** By their numbers, from 0; with gaps while parts are under way. */
  readonly stored: readonly StoredPart[];
  /** @param number from 1 */
  storePart(number: number, part: Part, signal: AbortSignal): Promise<void>;
  complete(
    whole: { readonly size: number; readonly crc32: number },
    unconfirmed: Unconfirmed,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A part as the server has it. */
export interface StoredPart {
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
}

export async function openMultipartUpload(
  context: S3Context,
  target: WriteTarget,
  unconfirmed: Unconfirmed,
  signal: AbortSignal,
): Promise<MultipartUpload> {
  return withoutChecksumsIfRefused(context, async (checksums) => {
    const id = await begin(context, target, { checksums, unconfirmed, signal });
    return reopenMultipartUpload(context, target, { id, checksums, stored: [] });
  });
}

/** One that was begun before, perhaps by another process. */
export function reopenMultipartUpload(
  context: S3Context,
  target: WriteTarget,
  { id, checksums, stored: before }: Pick<MultipartUpload, 'id' | 'checksums' | 'stored'>,
): MultipartUpload {
  const stored = [...before];
  return {
    id,
    checksums,
    stored,
    async storePart(number, part, signal) {
      const etag = await uploadPart(context, target, { id, number, part, checksums }, signal);
      stored[number - 1] = { etag, size: part.size, crc32: part.crc32 };
    },
    complete(whole, unconfirmed, signal) {
      const parts = stored.map(({ etag, crc32 }, index) => ({
        PartNumber: index + 1,
        ETag: etag,
        // MinIO and Versity refuse a list that leaves out what was sent with a part
        ...(checksums && { ChecksumCRC32: checksumText(crc32) }),
      }));
      return finish(context, target, { id, parts, whole, checksums, unconfirmed }, signal);
    },
  };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html */
async function begin(
  context: S3Context,
  { key, contentType, contentDisposition, metadata }: WriteTarget,
  { checksums, unconfirmed, signal }: { checksums: boolean; unconfirmed: Unconfirmed; signal: AbortSignal },
): Promise<string> {
  const command = new CreateMultipartUploadCommand({
    Bucket: context.bucket,
    Key: key,
    ContentType: contentType,
    ...(contentDisposition !== undefined && { ContentDisposition: contentDisposition }),
    Metadata: { ...metadata },
    ...(checksums && { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }),
  });
  const { request, quiet, settle } = context.timing;
  const { UploadId } = await tryControl(
    context,
    signal,
    (abortSignal) =>
      countUnconfirmed(unconfirmed, 'upload', () => context.client.send(command, { abortSignal })),
    { total: request, attempt: quiet, grace: settle },
  );
  if (UploadId === undefined) throw new Error('CreateMultipartUpload answered no upload id');
  return UploadId;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html */
function uploadPart(
  context: S3Context,
  { key }: WriteTarget,
  { id, number, part, checksums }: { id: string; number: number; part: Part; checksums: boolean },
  signal: AbortSignal,
): Promise<string> {
  const request = {
    key,
    query: { partNumber: `${number}`, uploadId: id },
    headers: checksums ? { 'x-amz-checksum-crc32': checksumText(part.crc32) } : {},
    part,
  };
  const time = partTime(context, part);
  return retrying(context.timing, { total: time, attempt: time }, signal, (attempt) =>
    context.sendPart(request, attempt),
  );
}

interface Completion {
  readonly id: string;
  /** In order. */
  readonly parts: readonly CompletedPart[];
  readonly whole: { readonly size: number; readonly crc32: number };
  readonly checksums: boolean;
  readonly unconfirmed: Unconfirmed;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html */
async function finish(
  context: S3Context,
  target: WriteTarget,
  { id, parts, whole, checksums, unconfirmed }: Completion,
  signal: AbortSignal,
): Promise<void> {
  const command = new CompleteMultipartUploadCommand({
    Bucket: context.bucket,
    Key: target.key,
    UploadId: id,
    MultipartUpload: { Parts: [...parts] },
    ...(checksums && { ChecksumCRC32: checksumText(whole.crc32), ChecksumType: 'FULL_OBJECT' }),
  });
  // "Processing of a CompleteMultipartUpload request could take several minutes to finalize". AWS sends
  // spaces meanwhile; other servers are silent, and a completion that is given up early is done twice
  const { request, quiet, settle } = context.timing;
  const limits = { total: 2 * request, attempt: 2 * quiet, grace: settle };
  let tries = 0;
  const send = async (abortSignal: AbortSignal): Promise<void> => {
    tries++;
    try {
      await countUnconfirmed(unconfirmed, 'object', async () => {
        const done = await context.client.send(command, { abortSignal });
        // "it is possible that a failure occurs after the initial 200 OK response has been sent"
        if (done.ETag === undefined && done.Key === undefined) {
          throw new S3Failure(200, 'InternalError', 'the answer to CompleteMultipartUpload says nothing');
        }
      });
    } catch (error) {
      // an earlier attempt may have done it, and have lost its answer
      const maybeDone = isRefusal(error) && unconfirmed.object > 0;
      // Ceph answers 500 for an upload that is no more, for as long as it is asked
      const over = !isRefusal(error) && tries > 1 && (await isOver(context, target, id, abortSignal));
      if (!maybeDone && !over) throw error;
      if (await isOurs(context, target, whole.size, abortSignal)) return;
      throw over
        ? new S3Failure(404, 'NoSuchUpload', 'the upload was dropped before it was complete')
        : error;
    }
  };
  await tryControl(context, signal, send, limits);
}

/** Whether the upload was completed or dropped, as far as the server tells. */
async function isOver(
  { client, bucket }: S3Context,
  { key }: WriteTarget,
  id: string,
  abortSignal: AbortSignal,
): Promise<boolean> {
  const command = new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: id, MaxParts: 1 });
  try {
    await client.send(command, { abortSignal });
    return false;
  } catch (error) {
    return isStatus(error, 404);
  }
}

async function isOurs(
  { client, bucket }: S3Context,
  { key, writerId }: WriteTarget,
  size: number,
  abortSignal: AbortSignal,
): Promise<boolean> {
  try {
    const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), { abortSignal });
    return found.ContentLength === size && writerIdOf(found.Metadata ?? {}) === writerId;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}
