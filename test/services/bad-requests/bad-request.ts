/** A request that no part of the service may accept, as the bytes that go over the wire. */
export interface BadRequest {
  /** What is wrong with it. */
  readonly kind: string;
  readonly method: string;
  /** Percent-encoded path and query, as sent. */
  readonly target: string;
  /** In the order in which they are sent; bytes are sent as they are. */
  readonly headers: readonly (readonly [string, string | Buffer])[];
  readonly body: Buffer | null;
  /** The body goes out in chunks of these sizes, with Transfer-Encoding; null: with its Content-Length. */
  readonly chunks: readonly number[] | null;
}

/** The bytes of a request (RFC 9112). */
export function wireBytes({ method, target, headers, body, chunks }: BadRequest): Buffer {
  const parts: Buffer[] = [Buffer.from(`${method} ${target} HTTP/1.1\r\nhost: localhost\r\n`)];
  for (const [name, value] of headers) {
    parts.push(Buffer.from(`${name}: `), Buffer.from(value as string), Buffer.from('\r\n'));
  }
  if (body === null) return Buffer.concat([...parts, Buffer.from('\r\n')]);
  if (chunks === null) {
    return Buffer.concat([...parts, Buffer.from(`content-length: ${body.byteLength}\r\n\r\n`), body]);
  }
  parts.push(Buffer.from('transfer-encoding: chunked\r\n\r\n'));
  let offset = 0;
  for (let i = 0; offset < body.byteLength; i++) {
    const piece = body.subarray(offset, offset + (chunks[i % chunks.length] as number));
    parts.push(Buffer.from(`${piece.byteLength.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    offset += piece.byteLength;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
