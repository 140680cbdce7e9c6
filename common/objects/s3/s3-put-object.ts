import type { Part } from '../object-store.ts';
import { checksumText, withoutChecksumsIfRefused } from './s3-checksums.ts';
import type { S3Context } from './s3-context.ts';
import { isRefusal } from './s3-failure.ts';
import { storedHeaders } from './s3-metadata.ts';
import { retrying } from './s3-retry.ts';

/** The object to write, and the id that identifies its writer. */
export interface WriteTarget {
  readonly key: string;
  /** Also in the metadata. */
  readonly writerId: string;
  /** The type under which the store serves the object. */
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  /** Metadata to store. */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Number of requests that may have left something behind if the writer fails: requests that begin an upload or make
   * the object visible, including successful ones.
   */
  readonly unconfirmed: { upload: number; object: number };
}

/**
 * Sends a request that creates something. It counts unless it was certainly refused, even if it was abandoned. An upload
 * with a known id needs no search, so it doesn't count.
 */
export async function countUnconfirmed<T>(
  { unconfirmed }: WriteTarget,
  what: 'upload' | 'object',
  send: () => Promise<T>,
): Promise<T> {
  unconfirmed[what]++;
  try {
    const result = await send();
    if (what === 'upload') unconfirmed.upload--;
    return result;
  } catch (error) {
    if (isRefusal(error)) unconfirmed[what]--;
    throw error;
  }
}

/** Parts may be large, and S3 distant: a part gets another second for each of these. Bytes. */
const bytesASecond = 1024 ** 2;

/** The deadline of all attempts of a part. Milliseconds. */
export function partTime({ timing }: Pick<S3Context, 'timing'>, part: Pick<Part, 'size'>): number {
  return timing.request + Math.ceil((part.size / bytesASecond) * 1000);
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html */
export async function putObject(
  context: S3Context,
  target: WriteTarget,
  part: Part,
  signal: AbortSignal,
): Promise<void> {
  const { key } = target;
  const headers = storedHeaders(target);
  const time = partTime(context, part);
  const limits = { total: time, attempt: time, grace: context.timing.settle };
  await withoutChecksumsIfRefused(context, (checksums) =>
    retrying(context.timing, limits, signal, async (attempt) => {
      const checked = checksums ? { 'x-amz-checksum-crc32': checksumText(part.crc32), ...headers } : headers;
      const request = { key, query: {}, headers: checked, part };
      await countUnconfirmed(target, 'object', () => context.sendPart(request, attempt));
    }),
  );
}
