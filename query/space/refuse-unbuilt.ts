import { notImplemented } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { unparsedOptions } from '../input/unparsed-options.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationIdentity } from './open-space.ts';

/**
 * `webhooks` of a structure and `populate` of the options are taken, but nothing acts on them yet: where they would
 * have to act the answer is 501, before anything is read or written, and not a result that lacks something.
 */
export function refuseUnbuilt(request: HttpRequest, operation: OperationIdentity, space: RecordSpace): void {
  if (operation.populates) {
    const { populate } = unparsedOptions(request);
    const wanted = Array.isArray(populate)
      ? populate.length > 0
      : populate !== undefined && populate !== null;
    if (wanted) throw notImplemented('populate in the options');
  }
  const webhooks = space.structure.webhooks ?? space.stored.webhooks;
  if (webhooks === null) return;
  const inserts = operation.family === 'insert' || operation.makesRecords;
  const updates = operation.family === 'update';
  if (inserts && webhooks.onInsertUrl !== null) throw notImplemented('calling webhooks.onInsertUrl');
  if (updates && webhooks.onUpdateUrl !== null) throw notImplemented('calling webhooks.onUpdateUrl');
}
