import { STATUS_CODES } from 'node:http';
import type { Exchange } from './exchange.ts';
import type { HttpResponse, StreamBody } from './http-types.ts';
import { variedBy } from './varied-by.ts';

/** If less than this is left of an unread body, it is received and dropped, and the connection stays open. */
const dropBytes = 256 * 1024;
const pieceBytes = 64 * 1024;
/**
 * A hint that clients such as Node's and undici obey: uWebSockets.js closes an idle connection after 8 to 12 s, and a request
 * that is sent at that moment is lost. Written with the header before it, it costs no native call.
 */
const keepAlive = '\r\nkeep-alive: timeout=7';
/** Bytes of an answer that uWebSockets.js may buffer for a client that does not read. */
const bufferedBytes = 16 * 1024;

export function isStream(body: HttpResponse['body']): body is StreamBody {
  return typeof body === 'object' && 'chunks' in body;
}

/** Turns a large answer into a stream of chunks; a small answer stays as it is. */
export function inPieces(response: HttpResponse): HttpResponse {
  const { body } = response;
  if (body === undefined || isStream(body) || body.length <= pieceBytes) return response;
  const bytes = Buffer.from(body as Uint8Array);
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return { ...response, body: { chunks: chunks(), length: bytes.byteLength } };
}

/** Whether receiving the rest of the request is cheaper than closing the connection. */
export function restIsSmall(exchange: Exchange): boolean {
  const { body } = exchange;
  if (body.complete) return true;
  return body.contentLength !== undefined && body.contentLength - body.received <= dropBytes;
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}

function writeHead(
  exchange: Exchange,
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  closeConnection: boolean,
): void {
  const { res } = exchange;
  exchange.headSent = true;
  // uWebSockets.js writes these by itself
  if (status !== 200) res.writeStatus(statusLine(status));
  const { cors } = exchange;
  if (cors?.allowed) res.writeHeader('access-control-allow-origin', cors.allowed);
  const vary = cors?.headers.vary;
  if (vary !== undefined)
    res.writeHeader('vary', headers?.vary === undefined ? vary : variedBy(vary, headers.vary));
  for (const name in headers) {
    if (vary === undefined || name !== 'vary') res.writeHeader(name, headers[name] as string);
  }
  res.writeHeader('x-request-id', closeConnection ? exchange.id : exchange.id + keepAlive);
}

/** Ends the head of an answer without a body, unnoticed by uWebSockets.js, which adds the second line break. */
function endHead({ res }: Exchange, length: number | undefined): void {
  if (length !== undefined) res.writeHeader('content-length', `${length}`);
  res.writeHeader('connection', 'close\r\n');
}

/**
 * Ends an answer whose head is written. Don't pass a length to uWebSockets.js: it would wait for that many bytes, close
 * the connection on the next request, and turn undefined into 2^63.
 */
function endWithoutBody(exchange: Exchange, length: number | undefined, closeConnection: boolean): void {
  const { res } = exchange;
  if (exchange.isLast) {
    endHead(exchange, length);
    return;
  }
  if (length !== undefined) res.writeHeader('content-length', `${length}`);
  if (closeConnection) res.writeHeader('connection', 'close');
  res.endWithoutBody();
}

/**
 * Writes an answer that uWebSockets.js considers unended. Its `end` would release the handle that we need to close
 * later, so the body is sent after the blank line that ends the head, as part of the last header's bytes.
 */
export function writeUnended(exchange: Exchange, response: HttpResponse): void {
  const { res } = exchange;
  const content = Buffer.from((response.body as string | Uint8Array | undefined) ?? '');
  const { length } = content;
  exchange.cork(() => {
    writeHead(exchange, response, true);
    if (exchange.method === 'HEAD' || length === 0) {
      return endHead(exchange, isWithoutLength(response) ? undefined : length);
    }
    exchange.sentBytes = length;
    res.writeHeader('content-length', `${length}`);
    res.writeHeader('connection', Buffer.concat([Buffer.from('close\r\n\r\n'), content]));
  });
}

/** RFC 9110 section 8.6: no Content-Length in a 204, and in a 304 only the length that a 200 would have. */
function isWithoutLength({ status }: HttpResponse): boolean {
  return status === 204 || status === 304;
}

/**
 * Sends an answer with a body in memory. The request's body must be complete, or small enough to drop.
 * @returns a promise if the client has to read some of it first: otherwise uWebSockets.js would buffer the rest, for each
 * of a thousand requests in one segment
 */
export function writeWhole(
  exchange: Exchange,
  response: HttpResponse,
  closeConnection: boolean,
): Promise<void> | undefined {
  const { res } = exchange;
  const body = response.body as string | Uint8Array | undefined;
  exchange.body.discard();
  const withoutLength = isWithoutLength(response);
  const empty = exchange.method === 'HEAD' || withoutLength;
  if (body !== undefined && !empty) exchange.sentBytes = Buffer.byteLength(body);
  if (body !== undefined && !empty && body.length > bufferedBytes) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    let fits = true;
    exchange.cork(() => {
      writeHead(exchange, closeConnection ? closing(response) : response, closeConnection);
      [fits] = res.tryEnd(bytes, bytes.byteLength);
    });
    return fits ? undefined : writeRest(exchange, bytes, bytes.byteLength, 0);
  }
  exchange.cork(() => {
    writeHead(exchange, response, closeConnection);
    if (empty) {
      endWithoutBody(exchange, withoutLength ? undefined : Buffer.byteLength(body ?? ''), closeConnection);
    } else {
      // a string with only Latin-1 letters would be sent as Latin-1 (by the binaries for Node 22 and later), not as UTF-8
      const ascii = typeof body !== 'string' || body.length === exchange.sentBytes;
      res.end(ascii ? (body ?? '') : Buffer.from(body), closeConnection);
    }
  });
  return undefined;
}

/** We write this header ourselves: uWebSockets.js would write it into a body that it gets in chunks. */
function closing({ status, headers }: HttpResponse): HttpResponse {
  return { status, headers: { ...headers, connection: 'close' } };
}

/**
 * Streams an answer with backpressure. Rejects when the source fails; before the first byte the head is not sent yet,
 * so another answer is still possible.
 */
export async function writeStream(
  exchange: Exchange,
  response: HttpResponse,
  closeConnection: boolean,
): Promise<void> {
  const { res } = exchange;
  const { chunks, cut, filler, ...known } = response.body as StreamBody;
  // with a length uWebSockets.js would end the answer by itself
  const length = exchange.isLast ? undefined : known.length;
  const onCut = (): void => {
    if (!exchange.aborted) res.close();
  };
  cut?.addEventListener('abort', onCut, { once: true });
  const iterator = chunks[Symbol.asyncIterator]();
  exchange.body.discard();
  try {
    if (exchange.method === 'HEAD') {
      res.cork(() => {
        writeHead(exchange, response, closeConnection);
        endWithoutBody(exchange, known.length, closeConnection);
      });
      // a generator that has not started has no cleanup to run, but the source listens to the request's signal
      exchange.abort(new Error('the answer to HEAD needs no body'));
      return;
    }
    // the first chunk is pulled before the head is sent, so that a failing source gets a proper status
    let next = await iterator.next();
    if (exchange.aborted) return;
    if (next.done === true && length === undefined) {
      res.cork(() => {
        writeHead(exchange, response, closeConnection);
        if (exchange.isLast) endHead(exchange, 0);
        else res.end('', closeConnection);
      });
      return;
    }
    listenForRoom(exchange);
    const head = closeConnection ? closing(response) : response;
    res.cork(() => writeHead(exchange, head, closeConnection));
    while (next.done !== true) {
      const chunk = next.value;
      if (length !== undefined && exchange.sentBytes + chunk.byteLength > length)
        throw new Error('the body is longer than its declared length');
      if (chunk.byteLength > 0) await writeChunk(exchange, chunk, { length, filler });
      if (exchange.aborted) return;
      next = await iterator.next();
      if (exchange.aborted) return;
    }
    if (exchange.isLast) endChunks(exchange);
    else if (length === undefined) res.cork(() => res.end());
    else if (exchange.sentBytes < length) throw new Error('the body is shorter than its declared length');
    else if (length === 0) res.cork(() => res.end('', closeConnection));
  } finally {
    exchange.writing = false;
    cut?.removeEventListener('abort', onCut);
    await iterator.return?.();
  }
}

/** Ends a chunked answer, unnoticed by uWebSockets.js: with a trailer, because a header is written verbatim. */
function endChunks(exchange: Exchange): void {
  const { res } = exchange;
  // with onWritable set, uWebSockets.js flushes on the next write; an empty cork is one
  exchange.onWritable = () => {
    if (!exchange.aborted) res.cork(() => {});
  };
  res.cork(() => res.writeHeader('\r\n0\r\nx-request-id', `${exchange.id}\r\n`));
}

/** Writes a chunk and waits until the socket can take the next. */
async function writeChunk(
  exchange: Exchange,
  chunk: Uint8Array,
  { length, filler }: { readonly length: number | undefined; readonly filler: Uint8Array | undefined },
): Promise<void> {
  const { res } = exchange;
  exchange.sentBytes += chunk.byteLength;
  if (length === undefined) {
    let fits = true;
    res.cork(() => {
      fits = res.write(chunk);
      if (filler !== undefined) fits = res.write(filler) && fits;
    });
    if (!fits) await writable(exchange);
    return;
  }
  const start = res.getWriteOffset();
  let fits = true;
  res.cork(() => {
    [fits] = res.tryEnd(chunk, length);
  });
  if (!fits) await writeRest(exchange, chunk, length, start);
}

/** Writes the rest of a chunk that the socket did not take. @param start where the chunk begins in the body */
async function writeRest(
  exchange: Exchange,
  chunk: Uint8Array,
  length: number,
  start: number,
): Promise<void> {
  const { res } = exchange;
  listenForRoom(exchange);
  for (let fits = false; !fits; ) {
    await writable(exchange);
    if (exchange.aborted) return;
    const rest = chunk.subarray(res.getWriteOffset() - start);
    res.cork(() => {
      [fits] = res.tryEnd(rest, length);
    });
  }
}

function listenForRoom(exchange: Exchange): void {
  exchange.res.onWritable(() => {
    exchange.onWritable?.();
    return true;
  });
}

async function writable(exchange: Exchange): Promise<void> {
  exchange.writing = true;
  exchange.lastWrite = performance.now();
  await new Promise<void>((resolve) => {
    exchange.onWritable = resolve;
  });
  exchange.onWritable = null;
  exchange.writing = false;
}
