import type { HttpResponse } from './http-types.ts';

/** A JSON answer that no cache may store. */
export function noStoreJson(value: unknown): HttpResponse & { readonly body: string } {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}
