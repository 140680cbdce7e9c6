import type { Attempt } from '#kernel/limits/deadline.ts';
import type { Part } from '../object-store.ts';
import { beginRequest, ofWholeCrc32, uploadIdIn } from './s3-begin.ts';
import { checksumText, withoutChecksumsIfRefused } from './s3-checksums.ts';
import { attemptCompletion, completeLimits, completeRequest, sendCompletion } from './s3-complete.ts';
import type { S3Context } from './s3-context.ts';
import { isRefusal, S3Failure } from './s3-failure.ts';
import { metadataIn, storedHeaders, writerIdOf } from './s3-metadata.ts';
import { countUnconfirmed, partTime, type WriteTarget } from './s3-put-object.ts';
import { headRequest, sizeIn } from './s3-requests.ts';
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
    const { timing } = context;
    const { key } = target;
    return withoutChecksumsIfRefused(context, async (checksums) => {
      const request = beginRequest(key, { ...storedHeaders(target), ...(checksums && ofWholeCrc32) });
      const limits = { total: timing.request, attempt: timing.quiet, grace: timing.settle };
      const id = await retrying(timing, limits, signal, (attempt) =>
        countUnconfirmed(target, 'upload', async () => uploadIdIn(await context.send(request, attempt))),
      );
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
    const { checksums } = this;
    const { timing } = this.#context;
    const { unconfirmed, key } = this.#target;
    const upload = { key, uploadId: this.id };
    const parts = this.parts.map(([etag, , crc32], index) => ({
      number: index + 1,
      etag,
      // MinIO and Versity refuse a list without the checksums that were sent with parts
      ...(checksums && { checksums: { ChecksumCRC32: checksumText(crc32) } }),
    }));
    const wholeCrc32 = {
      'x-amz-checksum-crc32': checksumText(whole.crc32),
      'x-amz-checksum-type': 'FULL_OBJECT',
    };
    const request = completeRequest(upload, parts, checksums ? wholeCrc32 : {});
    let isFirst = true;
    await retrying(timing, completeLimits(timing), signal, async (attempt) => {
      const send = () =>
        countUnconfirmed(this.#target, 'object', () => sendCompletion(this.#context, request, attempt));
      const attempted = attemptCompletion(this.#context, upload, attempt, { send, isFirst });
      isFirst = false;
      let refusal: unknown = new S3Failure(
        404,
        'NoSuchUpload',
        'the upload was dropped before it was complete',
      );
      try {
        if (await attempted) return;
      } catch (error) {
        // an earlier attempt may have succeeded, and its answer was lost
        if (!isRefusal(error) || unconfirmed.object === 0) throw error;
        refusal = error;
      }
      if (!(await this.#isOurs(whole.size, attempt))) throw refusal;
    });
  }

  async #isOurs(size: number, attempt: Attempt): Promise<boolean> {
    const { key, writerId } = this.#target;
    try {
      const { headers } = await this.#context.send(headRequest(key), attempt);
      return sizeIn(headers) === size && writerIdOf(metadataIn(headers)) === writerId;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }
}
