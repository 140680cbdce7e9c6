import type { InspectedObject } from '../direct-store.ts';
import { plainEtag } from '../plain-etag.ts';
import { type S3Context, trySendOrNull } from './s3-context.ts';
import { failureOf, withStorageErrors } from './s3-failure.ts';
import { headRequest, sizeIn } from './s3-requests.ts';

/** Bytes in base64. A checksum of checksums ends with their number instead: `AAAAAA==-3`. */
const fourBytes = /^[A-Za-z0-9+/]{6}==$/;
const eightBytes = /^[A-Za-z0-9+/]{11}=$/;
/** A server, or a key of encryption that we may not use, refuses the mode; a HEAD does not say why. */
const refusals = new Set([400, 403, 501]);

/** An object with its checksums; null: there is none. */
export function inspectObject(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<InspectedObject | null> {
  return withStorageErrors('HeadObject', key, signal, async () => {
    const found = await trySendOrNull(
      context,
      headRequest(key, { 'x-amz-checksum-mode': 'ENABLED' }),
      signal,
    ).catch((error: unknown) => {
      if (!refusals.has(failureOf(error).status ?? 0)) throw error;
      return trySendOrNull(context, headRequest(key), signal);
    });
    if (found === null) return null;
    const { headers } = found;
    const isWhole = headers.get('x-amz-checksum-type') !== 'COMPOSITE';
    const checksum = (name: string, form: RegExp): string | undefined => {
      const value = headers.get(`x-amz-checksum-${name}`);
      return isWhole && value !== undefined && form.test(value) ? value : undefined;
    };
    return {
      size: sizeIn(headers),
      etag: plainEtag(headers.get('etag') ?? ''),
      crc32c: checksum('crc32c', fourBytes),
      crc64nvme: checksum('crc64nvme', eightBytes),
    };
  });
}
