import type { Part } from '../object-store.ts';
import { checksumText, withoutChecksumsIfRefused } from './s3-checksums.ts';
import type { S3Context } from './s3-context.ts';
import { isRefusal } from './s3-failure.ts';
import { retrying } from './s3-retry.ts';

/** The object to write, and the id by which it is recognised. */
export interface WriteTarget {
  readonly key: string;
  /** Also in the metadata. */
  readonly writerId: string;
  /** The type that the store itself serves. */
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  /** Metadata as it is stored. */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Number of requests that may have left something to look for when the writer fails: those that begin an upload,
   * and those that make the object visible, successful ones included.
   */
  readonly unconfirmed: { upload: number; object: number };
}

/**
 * Sends a request that makes something. It counts until it is surely refused; also when it has been given up and
 * nobody waits for it any more. An upload that is known by its id needs no looking for, so it doesn't count.
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

/** Parts may be large, and S3 far away: a part may take a second more for each of these. Bytes. */
const bytesASecond = 1024 ** 2;

/** The deadline of a part with all its attempts. Milliseconds. */
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
  const { key, contentType, contentDisposition, metadata } = target;
  const headers: Record<string, string> = { 'content-type': contentType };
  if (contentDisposition !== undefined) headers['content-disposition'] = contentDisposition;
  for (const [name, value] of Object.entries(metadata)) headers[`x-amz-meta-${name}`] = value;
  const time = partTime(context, part);
  const limits = { total: time, attempt: time, grace: context.timing.settle };
  await withoutChecksumsIfRefused(context, (checksums) =>
    retrying(context.timing, limits, signal, async (attempt) => {
      const checked = checksums ? { ...headers, 'x-amz-checksum-crc32': checksumText(part.crc32) } : headers;
      const request = { key, query: {}, headers: checked, part };
      await countUnconfirmed(target, 'object', () => context.sendPart(request, attempt));
    }),
  );
}
