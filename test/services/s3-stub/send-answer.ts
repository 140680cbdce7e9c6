import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FaultAction } from './fault-rules.ts';
import type { Answer } from './operations.ts';
import { errorDocument } from './render-xml.ts';
import { ConnectionGone, type S3Error } from './s3-error.ts';

/** Resolves once the answer is with the kernel; rejects with ConnectionGone when it didn't get there whole. */
export async function sendAnswer(
  res: ServerResponse,
  answer: Answer,
  faults: readonly FaultAction[],
): Promise<void> {
  if (res.destroyed) throw new ConnectionGone();
  const { blob } = answer;
  const whole = answer.xml === undefined ? null : Buffer.from(answer.xml);
  const isCut = faults.some((action) => action.kind === 'cut');
  const xml = isCut ? (whole?.subarray(0, whole.length >> 1) ?? null) : whole;
  const length = xml?.length ?? (blob === undefined ? 0 : blob.end - blob.start);
  const fault = faults.find((action) => action.kind === 'truncate');
  const head = {
    ...(xml !== null && { 'content-type': 'application/xml' }),
    // RFC 9110 section 8.6: no Content-Length with 204
    ...(answer.status !== 204 && { 'content-length': `${length}` }),
    ...answer.headers,
  };
  const body = xml !== null ? [xml] : length === 0 ? [] : blob?.blob.chunks(blob.start, blob.end);
  if (fault !== undefined) {
    await truncate(res, answer.status, head, body ?? [], fault.bytes ?? Math.floor(length / 2));
    return;
  }
  res.writeHead(answer.status, head);
  if (length === 0 || body === undefined) {
    await new Promise<void>((resolve, reject) => {
      res.once('close', () => reject(new ConnectionGone()));
      res.end(resolve);
    });
    return;
  }
  await pipeline(Readable.from(body), res).catch((error: unknown) => {
    throw res.destroyed && isPrematureClose(error) ? new ConnectionGone() : error;
  });
}

export function errorAnswer(error: S3Error, isHead: boolean): Answer {
  // "HEAD requests have no body": the code is lost, clients see the status only
  if (isHead) return { status: error.status };
  return {
    status: error.status,
    xml: errorDocument([['Code', error.code], ['Message', error.message], ...Object.entries(error.details)]),
  };
}

/** A head that promises everything, some bytes of the body, and the end of the connection. */
async function truncate(
  res: ServerResponse,
  status: number,
  head: Readonly<Record<string, string>>,
  body: Iterable<Buffer> | AsyncIterable<Buffer>,
  bytes: number,
): Promise<never> {
  const { socket } = res;
  res.writeHead(status, head);
  let left = bytes;
  if (left <= 0) {
    // nothing of the body may go: break off inside the head
    await new Promise<void>((resolve) => socket?.write(`HTTP/1.1 ${status} `, () => resolve()));
  }
  for await (const chunk of body) {
    if (left <= 0) break;
    const piece = chunk.subarray(0, left);
    left -= piece.length;
    await new Promise<void>((resolve) => res.write(piece, () => resolve()));
  }
  socket?.destroy();
  throw new ConnectionGone();
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
