import { notImplemented } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { unparsedOptions } from '../input/unparsed-options.ts';
import { familyOf, type OperationName } from '../record-operation.ts';
import type { RecordSpace } from '../structure/record-space.ts';

const populating: readonly OperationName[] = ['find', 'findOne', 'search'];

/**
 * `webhooks` of a structure and `populate` of the options are taken, but nothing acts on them yet: where they would
 * have to act the answer is 501, before anything is read or written, and not a result that lacks something.
 */
export function refuseUnbuilt(request: HttpRequest, operation: OperationName, space: RecordSpace): void {
  if (populating.includes(operation)) {
    const { populate } = unparsedOptions(request);
    const wanted = Array.isArray(populate)
      ? populate.length > 0
      : populate !== undefined && populate !== null;
    if (wanted) throw notImplemented('populate in the options');
  }
  const webhooks = space.structure.webhooks ?? space.stored.webhooks;
  if (webhooks === null) return;
  // setKeys makes the record when there is none
  const inserts = familyOf(operation) === 'insert' || operation === 'setKeys';
  const updates = familyOf(operation) === 'update';
  if (inserts && webhooks.onInsertUrl !== null) throw notImplemented('calling webhooks.onInsertUrl');
  if (updates && webhooks.onUpdateUrl !== null) throw notImplemented('calling webhooks.onUpdateUrl');
}
