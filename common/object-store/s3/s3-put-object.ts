import type { Part } from '../object-store.ts';
import { checksumText, withoutChecksumsIfRefused } from './s3-checksums.ts';
import type { S3Context } from './s3-context.ts';
import { partTime, type WriteTarget } from './s3-multipart-upload.ts';
import { retrying } from './s3-retry.ts';
import { countUnconfirmed, type Unconfirmed } from './s3-unconfirmed.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html */
export async function putObject(
  context: S3Context,
  target: WriteTarget,
  part: Part,
  unconfirmed: Unconfirmed,
  signal: AbortSignal,
): Promise<void> {
  const headers: Record<string, string> = { 'content-type': target.contentType };
  if (target.contentDisposition !== undefined) headers['content-disposition'] = target.contentDisposition;
  for (const [name, value] of Object.entries(target.metadata)) headers[`x-amz-meta-${name}`] = value;
  const time = partTime(context, part);
  await withoutChecksumsIfRefused(context, (checksums) =>
    retrying(
      context.timing,
      { total: time, attempt: time, grace: context.timing.settle },
      signal,
      async (attempt) => {
        const request = {
          key: target.key,
          query: {},
          headers: checksums ? { ...headers, 'x-amz-checksum-crc32': checksumText(part.crc32) } : headers,
          part,
        };
        await countUnconfirmed(unconfirmed, 'object', () => context.sendPart(request, attempt));
      },
    ),
  );
}
