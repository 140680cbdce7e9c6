import { createHash } from 'node:crypto';
import type { DirectAbilities } from '../direct-store.ts';
import { plainEtag } from '../plain-etag.ts';
import { beginRequest, ofWholeCrc32c, uploadIdIn } from './s3-begin.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import { completeRequest, sendCompletion } from './s3-complete.ts';
import { type S3Context, trySend, trySendOrNull } from './s3-context.ts';
import { failureOf } from './s3-failure.ts';
import { listParts, type UploadName } from './s3-list-parts.ts';
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
export const wrongCrc32c = { 'x-amz-checksum-crc32c': 'AAAAAA==' };
export const rightCrc32c = { 'x-amz-checksum-crc32c': crc32c };
export const wrongMd5 = { 'content-md5': createHash('md5').digest('base64') };
export const rightMd5 = { 'content-md5': md5.toString('base64') };

const described = { 'content-type': 'text/plain', 'x-amz-meta-sluice-check': 'kept' };

type Headers = Readonly<Record<string, string>>;

/** Sends the bytes with these headers. @returns their ETag; null: the store refuses them */
type Put = (headers: Headers) => Promise<string | null>;

/** Whether a second PutObject with If-None-Match is refused, and whether the ETag of the object is its MD5. */
export function probeObject(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<Pick<DirectAbilities, 'refusesOverwrite' | 'etagIsMd5'>> {
  return withObject(context, key, signal, async (put) => {
    const ifNone = { 'if-none-match': '*' };
    const etag = await put(ifNone);
    const refusesOverwrite = etag !== null && (await put(ifNone)) === null;
    return { refusesOverwrite, etagIsMd5: isMd5(etag ?? (await put({}))) };
  });
}

/** Whether a PutObject with a wrong digest leaves nothing, while one with the right digest is accepted. */
export function probeDigest(
  context: S3Context,
  { key, wrong, right }: { readonly key: string } & Readonly<Record<'wrong' | 'right', Headers>>,
  signal: AbortSignal,
): Promise<boolean> {
  return withObject(context, key, signal, async (put) => {
    if ((await put(wrong)) !== null) return false;
    const left = await trySendOrNull(context, headRequest(key), signal);
    // some servers refuse whatever has the header
    return left === null && (await put(right)) !== null;
  });
}

/** Parts without checksums. */
export function probePart(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<Pick<DirectAbilities, 'etagIsMd5' | 'checksMd5'>> {
  return withUpload(context, { key, headers: {} }, signal, async (upload) => {
    if (upload === null) return enforcesNothing;
    const put = partPut(context, upload, signal);
    const etag = await put(3)({});
    const checksMd5 = (await put(2)(wrongMd5)) === null && (await put(1)(rightMd5)) !== null;
    // rclone refuses it, and keeps it
    return { checksMd5: checksMd5 && !(await hasPart(context, upload, signal)), etagIsMd5: isMd5(etag) };
  });
}

/** A part with its CRC-32C, which servers compare once more when the upload is completed. */
export function probeChecksums(context: S3Context, key: string, signal: AbortSignal): Promise<boolean> {
  const headers = { ...ofWholeCrc32c, ...described };
  return withUpload(context, { key, headers }, signal, async (upload) => {
    if (upload === null) return false;
    const put = partPut(context, upload, signal);
    if ((await put(2)(wrongCrc32c)) !== null || (await hasPart(context, upload, signal))) return false;
    const etag = await put(1)(rightCrc32c);
    if (etag === null) return false;
    const checksums = { ChecksumCRC32C: crc32c };
    const request = completeRequest(upload, [{ number: 1, etag, checksums }]);
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

/** Whether the upload has part 2, which was refused. */
async function hasPart(context: S3Context, upload: UploadName, signal: AbortSignal): Promise<boolean> {
  const parts = await listParts(context, upload, signal);
  return parts === null || parts.some(({ number }) => number === 2);
}

/** Works with PutObject, and removes the object. */
async function withObject<T>(
  context: S3Context,
  key: string,
  signal: AbortSignal,
  work: (put: Put) => Promise<T>,
): Promise<T> {
  try {
    return await work((headers) =>
      etagOf(context, { operation: 'PutObject', method: 'PUT', key, headers }, signal),
    );
  } finally {
    void removeLeftovers(context, { key, object: true });
  }
}

/** Begins an upload, and removes what becomes of it. @param work gets null if the store refuses it */
async function withUpload<T>(
  context: S3Context,
  { key, headers }: { readonly key: string; readonly headers: Headers },
  signal: AbortSignal,
  work: (upload: UploadName | null) => Promise<T>,
): Promise<T> {
  let uploadId: string | null = null;
  let isRefused = false;
  try {
    const request = beginRequest(key, headers);
    const begun = await accepted(() => trySend(context, request, signal, limitsOf(context)));
    isRefused = begun === null;
    uploadId = begun && uploadIdIn(begun);
    return await work(uploadId === null ? null : { key, uploadId });
  } finally {
    const unknownUpload = uploadId === null && !isRefused;
    if (!isRefused)
      void removeLeftovers(context, { key, uploadId: uploadId ?? undefined, unknownUpload, object: true });
  }
}

/** Puts the part with a number. rclone takes each number only once, even after a refusal. */
function partPut(
  context: S3Context,
  { key, uploadId }: UploadName,
  signal: AbortSignal,
): (number: number) => Put {
  return (number) => (headers) => {
    const query = { uploadId, partNumber: `${number}` };
    return etagOf(context, { operation: 'UploadPart', method: 'PUT', key, query, headers }, signal);
  };
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
