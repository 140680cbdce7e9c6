import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { partBytesFor } from '#kernel/config/s3-part-sizes.ts';
import { settledWithin, untilAborted } from '#kernel/limits/deadline.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import type { S3Context } from './s3-context.ts';
import { isRefusal, S3Failure, withStorageErrors } from './s3-failure.ts';
import { storedMetadata, writerIdOf } from './s3-metadata.ts';
import { retrying } from './s3-retry.ts';

/** The size of parts, unless 10,000 of them are too few: it grows then. Bytes. */
const partBytes = 8 * 1024 ** 2;
/** Concurrent parts of one object: while they are sent, lib-storage gathers one more. */
const partsAtOnce = 2;
/** S3's limit of an object. Bytes. */
const largestObject = 5 * 1024 ** 4;
/** The slowest connection that a request with a body is allowed. Bytes a second. */
const slowest = 64 * 1024;
/** How often all attempts of a request may take the time of one. */
const attempts = 3;

export interface StreamedObject {
  readonly key: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Size of the object; undefined: not known, and at most 80 GB. */
  readonly bytes: number | undefined;
}

/**
 * Uploads a stream of any length as an object, with lib-storage's `Upload`. The object becomes visible as a whole. Rejects
 * with a storage error, with the error of the stream, or with the signal's reason, once nothing is left of the upload or
 * the deadline of cleaning up has passed.
 */
export async function uploadStream(
  context: S3Context,
  { key, chunks, bytes = 0 }: StreamedObject,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const body = Readable.from(untilStopped(chunks, stop.signal));
  // lib-storage reads it, and reports its errors
  body.on('error', () => {});
  // without the stop, the upload would wait for more bytes before it fails
  const requests = new UploadRequests(context, key, signal, (error) => stop.abort(error));
  const writerId = randomUUID();
  const contentType = 'application/octet-stream';
  try {
    await new Upload({
      client: requests.client(writerId),
      params: {
        Bucket: context.bucket,
        Key: key,
        Body: body,
        ContentType: contentType,
        Metadata: storedMetadata({ contentType, metadata: {} }, writerId),
      },
      partSize: partBytesFor({ partBytes, maxObjectBytes: largestObject }, 0, bytes),
      queueSize: partsAtOnce,
      // its own abort runs once, and a part that arrives later begins the upload anew on some servers
      leavePartsOnError: true,
    }).done();
  } catch (error) {
    await requests.drop();
    signal.throwIfAborted();
    throw requests.failure ?? error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    body.destroy();
  }
  await requests.dropOthers();
}

/** Ends with the signal's reason also while the source waits for bytes: a destroyed `Readable` would wait for it, too. */
async function* untilStopped(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(source.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    source.return?.().catch(() => {});
  }
}

type Command = Parameters<S3Client['send']>[0];

/** The requests of one upload, with our retries and deadlines, and what they may have left. */
class UploadRequests {
  /** The first one that failed. */
  failure: Error | undefined;
  readonly #context: S3Context;
  readonly #key: string;
  readonly #signal: AbortSignal;
  readonly #onFailure: (error: Error) => void;
  /** Requests of which the SDK is not done, also after their deadline. */
  readonly #running = new Set<Promise<unknown>>();
  #uploadId: string | undefined;
  #begins = 0;
  #bytes = 0;

  constructor(context: S3Context, key: string, signal: AbortSignal, onFailure: (error: Error) => void) {
    this.#context = context;
    this.#key = key;
    this.#signal = signal;
    this.#onFailure = onFailure;
  }

  /** What lib-storage takes for the client: it reads its configuration, and sends commands. */
  client(writerId: string): S3Client {
    const send = async (command: Command): Promise<unknown> => {
      try {
        return await this.#send(command, writerId);
      } catch (error) {
        this.failure ??= error as Error;
        this.#onFailure(this.failure);
        throw error;
      }
    };
    return { config: this.#context.client.config, send } as unknown as S3Client;
  }

  /** Removes what the failed upload left. Never rejects. */
  async drop(): Promise<void> {
    await settledWithin(Promise.allSettled(this.#running), this.#context.timing.settle);
    if (this.#begins === 0) return;
    const lost = this.#uploadId === undefined || this.#begins > 1;
    await removeLeftovers(this.#context, {
      key: this.#key,
      uploadId: this.#uploadId,
      unknownUpload: lost,
      lateParts: true,
    });
  }

  /** A begin that was sent twice may have begun two uploads, of which one is complete. Never rejects. */
  async dropOthers(): Promise<void> {
    if (this.#begins > 1) await removeLeftovers(this.#context, { key: this.#key, unknownUpload: true });
  }

  #send(command: Command, writerId: string): Promise<unknown> {
    // the SDK names commands after their classes
    const name = command.constructor.name.replace(/Command$/, '');
    const { Body: body } = command.input as { readonly Body?: Uint8Array };
    const size = body?.byteLength ?? 0;
    this.#bytes += size;
    const { timing } = this.#context;
    const attempt = timing.request + (size / slowest) * 1000;
    const limits = { total: attempt * attempts, attempt };
    let tries = 0;
    return withStorageErrors(name, this.#key, this.#signal, () =>
      retrying(timing, limits, this.#signal, async ({ signal }) => {
        tries++;
        if (name === 'CreateMultipartUpload') return this.#begin(command, signal);
        if (name !== 'CompleteMultipartUpload') return this.#once(command, signal);
        return this.#complete(command, signal, tries > 1 ? writerId : null);
      }),
    );
  }

  async #begin(command: Command, signal: AbortSignal): Promise<unknown> {
    this.#begins++;
    try {
      const begun = await this.#once(command, signal);
      this.#uploadId = (begun as { readonly UploadId?: string }).UploadId;
      return begun;
    } catch (error) {
      if (isRefusal(error)) this.#begins--;
      throw error;
    }
  }

  /** @param writerId not null: an earlier attempt may have completed it, and its answer was lost */
  async #complete(command: Command, signal: AbortSignal, writerId: string | null): Promise<unknown> {
    try {
      const done = (await this.#once(command, signal)) as { readonly ETag?: string; readonly Key?: string };
      // "it is possible that a failure occurs after the initial 200 OK response has been sent"
      if (done.ETag === undefined && done.Key === undefined)
        throw new S3Failure(200, 'InternalError', 'the answer to CompleteMultipartUpload says nothing');
      return done;
    } catch (error) {
      if (writerId === null || !isRefusal(error)) throw error;
      const input = { Bucket: this.#context.bucket, Key: this.#key };
      const found = await this.#context.client.send(new HeadObjectCommand(input), { abortSignal: signal });
      if (found.ContentLength !== this.#bytes || writerIdOf(found.Metadata ?? {}) !== writerId) throw error;
      return found;
    }
  }

  #once(command: Command, signal: AbortSignal): Promise<unknown> {
    const sent: Promise<unknown> = this.#context.client.send(command, { abortSignal: signal });
    this.#running.add(sent);
    sent.then(
      () => this.#running.delete(sent),
      () => this.#running.delete(sent),
    );
    return untilAborted(sent, signal);
  }
}
