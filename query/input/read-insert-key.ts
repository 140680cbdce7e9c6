import type { InsertKey } from '#records/keyed-insert.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { readIdempotencyKey } from '#server/http/idempotency-key.ts';

/** The `Idempotency-Key` of an insert. Undefined: the request has none. Throws a 400. */
export function readInsertKey(
  request: HttpRequest,
  { bound }: RecordSpace,
  body: unknown,
): InsertKey | undefined {
  const key = readIdempotencyKey(request);
  if (key === undefined) return undefined;
  const { params, address } = request;
  return { key, user: bound?.user, sender: addressOwner(address), params, body };
}
