import type { HttpResponse } from '../../common/http/http-types.ts';
import { replayedHeader } from '../../common/http/idempotency-key.ts';
import { acceptQuery } from '../input/query-media-type.ts';
import type { Inserted } from '../records/insert-records.ts';
import { type Structure, structureText } from '../structure/structure.ts';

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

/** The result of an insert, now or before. */
export function insertAnswer(body: string | Uint8Array, { replayed }: Inserted): HttpResponse {
  const answer = jsonAnswer(body);
  return replayed ? { ...answer, headers: { ...jsonHeaders, ...replayedHeader } } : answer;
}

/** A structure under both names that its list of fields has: clients differ. */
export function structureAnswer(structure: Structure): HttpResponse {
  const parsed = JSON.parse(structureText(structure)) as { readonly recordStructure: unknown };
  return jsonAnswer(JSON.stringify({ ...parsed, recordFieldStructures: parsed.recordStructure }));
}

export function jsonStream(
  chunks: AsyncIterable<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): HttpResponse {
  return { status: 200, headers, body: { chunks } };
}
