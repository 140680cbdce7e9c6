import type { HttpResponse } from '../../common/http/http-types.ts';

const headers = { 'content-type': 'application/json; charset=utf-8' };

/** @param body JSON text */
export function jsonAnswer(body: string | Uint8Array): HttpResponse {
  return { status: 200, headers, body };
}

export function jsonStream(chunks: AsyncIterable<Uint8Array>): HttpResponse {
  return { status: 200, headers, body: { chunks } };
}
