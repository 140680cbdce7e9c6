import { createHash } from 'node:crypto';
import type { DirectAbilities } from '../direct-store.ts';
import { beginRequest, ofWholeCrc32c, uploadIdIn } from './s3-begin.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import { completeRequest, sendCompletion } from './s3-complete.ts';
import { type S3Context, trySend } from './s3-context.ts';
import { failureOf } from './s3-failure.ts';
import { plainEtag } from './s3-inspect.ts';
import type { UploadName } from './s3-list-parts.ts';
import { headRequest } from './s3-requests.ts';
import { retrying } from './s3-retry.ts';
import type { S3Request } from './s3-sender.ts';

/** What a store enforces that can't be probed. */
export const enforcesNothing: DirectAbilities = {
  refusesOverwrite: false,
  etagIsMd5: false,
  checksMd5: false,
  checksChecksums: false,
};

/** The bytes that are sent, and their CRC-32C: the check value of that algorithm. */
const bytes = Buffer.from('123456789');
const crc32c = '4waSgw==';
const md5 = createHash('md5').update(bytes).digest();
const wrongCrc32c = { 'x-amz-checksum-crc32c': 'AAAAAA==' };
const rightCrc32c = { 'x-amz-checksum-crc32c': crc32c };
const wrongMd5 = { 'content-md5': createHash('md5').digest('base64') };
const rightMd5 = { 'content-md5': md5.toString('base64') };

const described = { 'content-type': 'text/plain', 'x-amz-meta-sluice-check': 'kept' };

/** Sends the bytes with these headers. @returns their ETag; null: the store refuses them */
type Put = (headers: Readonly<Record<string, string>>) => Promise<string | null>;

/** What is refused has to be accepted where it is right: some servers refuse whatever has the header. */
const isChecked = async (put: Put, wrong: Parameters<Put>[0], right: Parameters<Put>[0]): Promise<boolean> =>
  (await put(wrong)) === null && (await put(right)) !== null;

/** With PutObject. */
export async function probeObject(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<DirectAbilities> {
  const put: Put = (headers) =>
    etagOf(context, { operation: 'PutObject', method: 'PUT', key, headers }, signal);
  const ifNone = { 'if-none-match': '*' };
  try {
    const first = await put(ifNone);
    const refusesOverwrite = first !== null && (await put(ifNone)) === null;
    const etag = first ?? (await put({}));
    const checksMd5 = await isChecked(put, wrongMd5, rightMd5);
    const checksChecksums = await isChecked(put, wrongCrc32c, rightCrc32c);
    return { checksMd5, checksChecksums, etagIsMd5: isMd5(etag), refusesOverwrite };
  } finally {
    void removeLeftovers(context, { key, object: true });
  }
}

/** A part without checksums. Some servers accept each number only once, so the first one counts. */
export function probePart(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<Pick<DirectAbilities, 'etagIsMd5' | 'checksMd5'>> {
  return withUpload(context, { key, headers: {} }, signal, async (uploadId) => {
    if (uploadId === null) return enforcesNothing;
    const put = partPut(context, { key, uploadId }, signal);
    const refusesWrong = (await put(wrongMd5)) === null;
    const right = await put(rightMd5);
    return {
      checksMd5: refusesWrong && right !== null,
      etagIsMd5: isMd5(right ?? (await put({}))),
    };
  });
}

/** A part with its CRC-32C, which servers compare once more when the upload is completed. */
export function probeChecksums(context: S3Context, key: string, signal: AbortSignal): Promise<boolean> {
  const headers = { ...ofWholeCrc32c, ...described };
  return withUpload(context, { key, headers }, signal, async (uploadId) => {
    if (uploadId === null) return false;
    const put = partPut(context, { key, uploadId }, signal);
    if ((await put(wrongCrc32c)) !== null) return false;
    const etag = await put(rightCrc32c);
    if (etag === null) return false;
    const request = completeRequest({ key, uploadId }, [
      { number: 1, etag, checksums: { ChecksumCRC32C: crc32c } },
    ]);
    const completed = await accepted(() =>
      retrying(context.timing, limitsOf(context), signal, async (attempt) => {
        await sendCompletion(context, request, attempt);
        return true;
      }),
    );
    if (completed !== true) return false;
    // s3proxy 4.0.0 loses the description of such an upload
    const found = await accepted(() => trySend(context, headRequest(key), signal, limitsOf(context)));
    return Object.entries(described).every(([name, value]) => found?.headers.get(name) === value);
  });
}

/** Begins an upload, and removes what becomes of it. @param work gets null if the store refuses it */
async function withUpload<T>(
  context: S3Context,
  { key, headers }: { readonly key: string; readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
  work: (uploadId: string | null) => Promise<T>,
): Promise<T> {
  let uploadId: string | null = null;
  let isRefused = false;
  try {
    const request = beginRequest(key, headers);
    const begun = await accepted(() => trySend(context, request, signal, limitsOf(context)));
    isRefused = begun === null;
    uploadId = begun && uploadIdIn(begun);
    return await work(uploadId);
  } finally {
    const unknownUpload = uploadId === null && !isRefused;
    if (!isRefused)
      void removeLeftovers(context, { key, uploadId: uploadId ?? undefined, unknownUpload, object: true });
  }
}

function partPut(context: S3Context, { key, uploadId }: UploadName, signal: AbortSignal): Put {
  const query = { uploadId, partNumber: '1' };
  return (headers) =>
    etagOf(context, { operation: 'UploadPart', method: 'PUT', key, query, headers }, signal);
}

/** The ETag of the bytes; null: the store refuses them. */
async function etagOf(
  context: S3Context,
  request: Omit<S3Request, 'body'>,
  signal: AbortSignal,
): Promise<string | null> {
  const body = { chunks: [bytes], size: bytes.byteLength };
  const answer = await accepted(() =>
    trySend(context, { ...request, body, presigned: true }, signal, limitsOf(context)),
  );
  return answer && (answer.headers.get('etag') ?? '');
}

function limitsOf({ timing }: Pick<S3Context, 'timing'>) {
  return { total: timing.quiet, attempt: timing.quiet };
}

/** Null: the store answered with an error. Rejects when it is away, or too busy. */
async function accepted<T>(send: () => Promise<T>): Promise<T | null> {
  try {
    return await send();
  } catch (error) {
    const { status } = failureOf(error);
    if (status === undefined || status === 429 || status === 503) throw error;
    return null;
  }
}

function isMd5(etag: string | null): boolean {
  return etag !== null && plainEtag(etag) === md5.toString('hex');
}
