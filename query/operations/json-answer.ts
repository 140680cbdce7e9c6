import type { HttpResponse } from '../../common/http/http-types.ts';
import { type Structure, structureText } from '../structure/structure.ts';

const headers = { 'content-type': 'application/json; charset=utf-8' };

/** @param body JSON text */
export function jsonAnswer(body: string | Uint8Array): HttpResponse {
  return { status: 200, headers, body };
}

/** A structure under both names that its list of fields has: clients differ. */
export function structureAnswer(structure: Structure): HttpResponse {
  const parsed = JSON.parse(structureText(structure)) as { readonly recordStructure: unknown };
  return jsonAnswer(JSON.stringify({ ...parsed, recordFieldStructures: parsed.recordStructure }));
}

export function jsonStream(chunks: AsyncIterable<Uint8Array>): HttpResponse {
  return { status: 200, headers, body: { chunks } };
}
