import type { HttpResponse } from '#server/http/http-types.ts';
import { acceptQuery } from '../input/query-media-type.ts';

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

/** For operations that also take QUERY. */
export const queryableJson = { ...jsonHeaders, ...acceptQuery };

/** @param body JSON text */
export function jsonAnswer(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = jsonHeaders,
): HttpResponse {
  return { status: 200, headers, body };
}
