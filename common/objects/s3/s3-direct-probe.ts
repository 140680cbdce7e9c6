import { createHash, randomUUID } from 'node:crypto';
import { untilAborted, withDeadline } from '#kernel/limits/deadline.ts';
import type { DirectAbilities } from '../direct-store.ts';
import { checkKey } from '../file-key.ts';
import { beginRequest, ofWholeCrc32c, uploadIdIn } from './s3-begin.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import { completeRequest, sendCompletion } from './s3-complete.ts';
import { type S3Context, trySend } from './s3-context.ts';
import { failureOf } from './s3-failure.ts';
import { plainEtag } from './s3-inspect.ts';
import { retrying } from './s3-retry.ts';
import type { S3Request } from './s3-sender.ts';

const nothing: DirectAbilities = {
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

/** Deadline of the whole probe. Milliseconds. */
const probeTimeout = 30_000;
/** A probe that failed is repeated after this pause. Milliseconds. */
const pause = 60_000;

/** Tries what a store enforces, once: servers differ, and ignore what they don't know. */
export class DirectProbe {
  readonly #context: S3Context;
  #known: Promise<DirectAbilities> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(context: S3Context) {
    this.#context = context;
  }

  /** Rejects only with the signal's reason. */
  abilities(signal: AbortSignal): Promise<DirectAbilities> {
    const { deploymentId } = this.#context;
    if (deploymentId === undefined) return Promise.resolve(nothing);
    if (this.#known === null) {
      if (performance.now() - this.#failedAt < pause) return Promise.resolve(nothing);
      this.#known = this.#probe(deploymentId);
    }
    return untilAborted(this.#known, signal);
  }

  async #probe(deploymentId: string): Promise<DirectAbilities> {
    const newKey = () => checkKey(deploymentId, randomUUID());
    try {
      return await withDeadline(undefined, probeTimeout, async ({ signal }) => {
        const context = this.#context;
        const [object, part] = await Promise.all([
          probeObject(context, newKey(), signal),
          probePart(context, newKey(), signal),
        ]);
        return {
          refusesOverwrite: object.refusesOverwrite,
          etagIsMd5: object.etagIsMd5 && part.etagIsMd5,
          checksMd5: object.checksMd5 && part.checksMd5,
          checksChecksums: object.checksChecksums && part.checksChecksums,
        };
      });
    } catch (err) {
      this.#failedAt = performance.now();
      this.#known = null;
      this.#context.log.warn(
        { err },
        'what the object store enforces could not be probed: it is repeated later',
      );
      return nothing;
    }
  }
}

/** With PutObject, whose keys are removed afterwards. */
async function probeObject(context: S3Context, key: string, signal: AbortSignal): Promise<DirectAbilities> {
  const put = (headers: Readonly<Record<string, string>>) =>
    etagOf(context, { operation: 'PutObject', method: 'PUT', key, headers }, signal);
  try {
    const checksMd5 = (await put(wrongMd5)) === null && (await put(rightMd5)) !== null;
    const checksChecksums = (await put(wrongCrc32c)) === null && (await put(rightCrc32c)) !== null;
    const etag = await put({});
    const refusesOverwrite = (await put({ 'if-none-match': '*' })) === null;
    return { checksMd5, checksChecksums, etagIsMd5: isMd5(etag), refusesOverwrite };
  } finally {
    void removeLeftovers(context, { key, object: true });
  }
}

/** With a multipart upload of one part, which is also completed: servers compare checksums there once more. */
async function probePart(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<Omit<DirectAbilities, 'refusesOverwrite'>> {
  const begin = async (headers: Readonly<Record<string, string>>): Promise<string | null> => {
    const begun = await accepted(() => trySend(context, beginRequest(key, headers), signal));
    return begun && uploadIdIn(begun);
  };
  let uploadId: string | undefined;
  try {
    const withChecksums = await begin(ofWholeCrc32c);
    uploadId = withChecksums ?? (await begin({})) ?? undefined;
    if (uploadId === undefined) return nothing;
    const query = { uploadId, partNumber: '1' };
    const put = (headers: Readonly<Record<string, string>>) =>
      etagOf(context, { operation: 'UploadPart', method: 'PUT', key, query, headers }, signal);
    const ofUpload = withChecksums === null ? {} : rightCrc32c;
    const refusesMd5 = (await put({ ...ofUpload, ...wrongMd5 })) === null;
    const etag = await put({ ...ofUpload, ...rightMd5 });
    const checksMd5 = refusesMd5 && etag !== null;
    const refusesWrong = withChecksums !== null && (await put(wrongCrc32c)) === null;
    const checksums = { ChecksumCRC32C: crc32c };
    const complete = completeRequest({ key, uploadId }, [{ number: 1, etag: etag ?? '', checksums }]);
    const completed =
      refusesWrong &&
      etag !== null &&
      (await accepted(() =>
        retrying(context.timing, limitsOf(context), signal, async (attempt) => {
          await sendCompletion(context, complete, attempt);
          return true;
        }),
      )) === true;
    return { checksMd5, checksChecksums: completed, etagIsMd5: isMd5(etag) };
  } finally {
    void removeLeftovers(context, { key, uploadId, unknownUpload: uploadId === undefined, object: true });
  }
}

/** The ETag of the bytes; null: the store refuses them. */
async function etagOf(
  context: S3Context,
  request: Omit<S3Request, 'body'>,
  signal: AbortSignal,
): Promise<string | null> {
  const body = { chunks: [bytes], size: bytes.byteLength };
  const answer = await accepted(() => trySend(context, { ...request, body }, signal, limitsOf(context)));
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
