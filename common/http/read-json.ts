import { invalidBody, overloaded, payloadTooLarge } from '../errors/catalogue.ts';
import type { HttpRequest } from './http-types.ts';

/**
 * Reads a request's whole body as JSON. @param limit bytes; above it the answer is 413, before or while it is read.
 * The memory it takes counts against the budget of the process until the request has its answer.
 */
export async function readJson(request: HttpRequest, limit: number): Promise<unknown> {
  const { body } = request;
  if (body.contentLength !== undefined && body.contentLength > limit) {
    throw payloadTooLarge(limit, 'Request body');
  }
  const bytes = await readBytes(request, limit);
  if (bytes.byteLength === 0) throw invalidBody('Request body is empty; it should be JSON');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalidBody('Request body is not valid UTF-8', cause);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw invalidBody('Request body is not valid JSON', cause);
  }
}

function readBytes({ body }: HttpRequest, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let failed = false;
    const fail = (error: Error): boolean => {
      failed = true;
      chunks.length = 0;
      reject(error);
      return false;
    };
    body.consume({
      write(chunk) {
        if (failed) return false;
        size += chunk.byteLength;
        if (size > limit) return fail(payloadTooLarge(limit, 'Request body'));
        if (!body.reserveMemory(chunk.byteLength)) {
          return fail(overloaded('too many request bodies are held in memory'));
        }
        chunks.push(Buffer.from(chunk));
        return true;
      },
      end: () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
      fail,
    });
  });
}
