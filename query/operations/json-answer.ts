import type { HttpResponse } from '../../common/http/http-types.ts';

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

/** A 200 whose body is JSON text. */
export function jsonAnswer(text: string | Uint8Array): HttpResponse {
  return { status: 200, headers: jsonHeaders, body: text };
}
