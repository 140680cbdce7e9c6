import type { Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';
import type { ByteRange } from '../object-store.ts';
import { control, type S3Context } from './s3-context.ts';
import { storageError } from './s3-failure.ts';
import { headObject } from './s3-requests.ts';

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
    throw storageError('GetObject', key, new Error(`${bytes} bytes came instead of ${expected}`));
  }
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

/** A small object; null: there is none. */
export async function readWholeObject(
  context: S3Context,
  key: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of readObject(context, key, null, signal)) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new Error(`${key} has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    if ((await headObject(context, key, signal)) === null) return null;
    throw error;
  }
  return Buffer.concat(chunks);
}
