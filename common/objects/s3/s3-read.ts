import type { Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { AnswerTooLong, BrokenAnswer } from '#kernel/http-client/answer-parser.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';
import type { ByteRange } from '../object-store.ts';
import { control, type S3Context, sendOrNull } from './s3-context.ts';
import { storageError } from './s3-failure.ts';
import type { S3Sender } from './s3-sender.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html */
export async function* readObject(
  context: S3Context,
  key: string,
  range: ByteRange | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal.throwIfAborted();
  const command = new GetObjectCommand({
    Bucket: context.bucket,
    Key: key,
    ...(range !== null && { Range: `bytes=${range.start}-${range.end}` }),
  });
  const found = await control(context, command, signal, context.reader);
  const body = found.Body as Readable;
  const expected = range === null ? found.ContentLength : range.end - range.start + 1;
  // S3 shortens a range beyond the end
  if (range !== null && !found.ContentRange?.startsWith(`bytes ${range.start}-${range.end}/`)) {
    body.destroy();
    throw new RangeError(
      `bytes ${range.start}-${range.end} of ${JSON.stringify(key)}: ${found.ContentRange}`,
    );
  }
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(body, context.timing.quiet, signal)) {
      bytes += chunk.byteLength;
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw storageError('GetObject', key, error);
  }
  if (bytes !== expected) {
    throw storageError('GetObject', key, new BrokenAnswer(`${bytes} bytes came instead of ${expected}`));
  }
}

/** Room for an error. Bytes. */
const smallestAnswer = 64 * 1024;

/** A small object in one request; null: there is none. Rejects when it is larger. */
export async function readWholeObject(
  context: S3Context,
  key: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const tooLarge = () => new RangeError(`an object of more than ${maxBytes} bytes`);
  const { timing } = context;
  const send: S3Sender = (request, attempt) =>
    context.send(request, attempt).catch((error: unknown) => {
      // it would be retried
      throw error instanceof AnswerTooLong ? tooLarge() : error;
    });
  const maxAnswer = Math.max(maxBytes, smallestAnswer);
  const found = await sendOrNull(
    { timing, send },
    { operation: 'GetObject', method: 'GET', key, maxAnswer },
    signal,
  );
  const bytes = found?.bytes ?? null;
  if (bytes !== null && bytes.byteLength > maxBytes) throw storageError('GetObject', key, tooLarge());
  return bytes;
}

/** The deadline only runs while we wait for the store: the reader may be slow. */
async function* chunksOf(
  body: Readable,
  quiet: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  let waiting = true;
  const watch = setTimeout(() => {
    if (waiting) body.destroy(new DeadlinePassed('no bytes arrived', quiet));
  }, quiet);
  const stop = () => body.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    for await (const chunk of body as AsyncIterable<Buffer>) {
      waiting = false;
      yield chunk;
      signal.throwIfAborted();
      waiting = true;
      watch.refresh();
    }
  } finally {
    clearTimeout(watch);
    signal.removeEventListener('abort', stop);
    body.destroy();
  }
}
