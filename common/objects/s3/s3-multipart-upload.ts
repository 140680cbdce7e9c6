import {
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
import { countUnconfirmed, partTime, type WriteTarget } from './s3-put-object.ts';
import { retrying } from './s3-retry.ts';

/** A part as the server has it. Bytes. */
export type StoredPart = readonly [etag: string, size: number, crc32: number];

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
export class MultipartUpload {
  readonly id: string;
  /** Whether the parts have checksums. */
  readonly checksums: boolean;
  /** Stored parts by number, from 0; with gaps while parts are being sent. */
  readonly parts: StoredPart[];
  readonly #context: S3Context;
  readonly #target: WriteTarget;

  /** An upload that was begun earlier, perhaps by another process. */
  constructor(
    context: S3Context,
    target: WriteTarget,
    begun: Pick<MultipartUpload, 'id' | 'checksums'> & { readonly parts: readonly StoredPart[] },
  ) {
    this.#context = context;
    this.#target = target;
    this.id = begun.id;
    this.checksums = begun.checksums;
    this.parts = [...begun.parts];
  }

  /** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html */
  static begin(context: S3Context, target: WriteTarget, signal: AbortSignal): Promise<MultipartUpload> {
    const { client, timing, bucket } = context;
    const { key, contentType, contentDisposition, metadata } = target;
    return withoutChecksumsIfRefused(context, async (checksums) => {
      const command = new CreateMultipartUploadCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        Metadata: { ...metadata },
        ContentDisposition: contentDisposition,
        ...(checksums && { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }),
      });
      const send = (abortSignal: AbortSignal) =>
        countUnconfirmed(target, 'upload', () => client.send(command, { abortSignal }));
      const limits = { total: timing.request, attempt: timing.quiet, grace: timing.settle };
      const { UploadId: id } = await tryControl(context, signal, send, limits);
      if (id === undefined) throw new Error('CreateMultipartUpload answered no upload id');
      return new MultipartUpload(context, target, { id, checksums, parts: [] });
    });
  }

  /** https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html @param number from 1 */
  async storePart(number: number, part: Part, signal: AbortSignal): Promise<void> {
    const request = {
      key: this.#target.key,
      query: { partNumber: `${number}`, uploadId: this.id },
      headers: this.checksums ? { 'x-amz-checksum-crc32': checksumText(part.crc32) } : {},
      part,
    };
    const time = partTime(this.#context, part);
    const limits = { total: time, attempt: time };
    const etag = await retrying(this.#context.timing, limits, signal, (attempt) =>
      this.#context.sendPart(request, attempt),
    );
    this.parts[number - 1] = [etag, part.size, part.crc32];
  }

  /** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html */
  async complete(whole: { size: number; crc32: number }, signal: AbortSignal): Promise<void> {
    const { client, bucket, timing } = this.#context;
    const { checksums } = this;
    const parts = this.parts.map(([ETag, , crc32], index) => ({
      PartNumber: index + 1,
      ETag,
      // MinIO and Versity refuse a list without the checksums that were sent with parts
      ...(checksums && { ChecksumCRC32: checksumText(crc32) }),
    }));
    const command = new CompleteMultipartUploadCommand({
      Bucket: bucket,
      Key: this.#target.key,
      UploadId: this.id,
      MultipartUpload: { Parts: parts },
      ...(checksums && { ChecksumCRC32: checksumText(whole.crc32), ChecksumType: 'FULL_OBJECT' }),
    });
    let tries = 0;
    const send = async (abortSignal: AbortSignal): Promise<void> => {
      tries++;
      try {
        await countUnconfirmed(this.#target, 'object', async () => {
          const done = await client.send(command, { abortSignal });
          // "it is possible that a failure occurs after the initial 200 OK response has been sent"
          if (done.ETag === undefined && done.Key === undefined) {
            throw new S3Failure(200, 'InternalError', 'the answer to CompleteMultipartUpload says nothing');
          }
        });
      } catch (error) {
        // an earlier attempt may have succeeded, and its answer was lost
        const maybeDone = isRefusal(error) && this.#target.unconfirmed.object > 0;
        // Ceph keeps answering 500 for an upload that no longer exists
        const over = !isRefusal(error) && tries > 1 && (await this.#isOver(abortSignal));
        if (!maybeDone && !over) throw error;
        if (await this.#isOurs(whole.size, abortSignal)) return;
        throw over
          ? new S3Failure(404, 'NoSuchUpload', 'the upload was dropped before it was complete')
          : error;
      }
    };
    // "Processing of a CompleteMultipartUpload request could take several minutes to finalize". AWS sends
    // spaces meanwhile; other servers are silent, and giving up early would complete the upload twice
    const limits = { total: 2 * timing.request, attempt: 2 * timing.quiet, grace: timing.settle };
    await tryControl(this.#context, signal, send, limits);
  }

  /** Whether the upload no longer exists, as far as the server says. */
  async #isOver(abortSignal: AbortSignal): Promise<boolean> {
    const { client, bucket } = this.#context;
    const input = { Bucket: bucket, Key: this.#target.key, UploadId: this.id, MaxParts: 1 };
    try {
      await client.send(new ListPartsCommand(input), { abortSignal });
      return false;
    } catch (error) {
      return isStatus(error, 404);
    }
  }

  async #isOurs(size: number, abortSignal: AbortSignal): Promise<boolean> {
    const { client, bucket } = this.#context;
    const { key, writerId } = this.#target;
    try {
      const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), { abortSignal });
      return found.ContentLength === size && writerIdOf(found.Metadata ?? {}) === writerId;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }
}
