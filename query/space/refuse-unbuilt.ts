import { notImplemented } from '../../common/errors/catalogue.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationIdentity } from './open-space.ts';

/**
 * `webhooks` of a structure are taken, but nothing calls them yet: where they would have to be called the answer is 501,
 * before anything is written.
 */
export function refuseUnbuilt(operation: OperationIdentity, space: RecordSpace): void {
  const webhooks = space.structure.webhooks ?? space.stored.webhooks;
  if (webhooks === null) return;
  const inserts = operation.family === 'insert' || operation.makesRecords;
  const updates = operation.family === 'update';
  if (inserts && webhooks.onInsertUrl !== null) throw notImplemented('calling webhooks.onInsertUrl');
  if (updates && webhooks.onUpdateUrl !== null) throw notImplemented('calling webhooks.onUpdateUrl');
}
