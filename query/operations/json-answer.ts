import type { HttpResponse } from '#server/http/http-types.ts';
import { acceptQuery } from '../input/query-media-type.ts';

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' };

/** Where QUERY is a method as well. */
export const queryableJson = { ...jsonHeaders, ...acceptQuery };

/** @param body JSON text */
export function jsonAnswer(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = jsonHeaders,
): HttpResponse {
  return { status: 200, headers, body };
}
