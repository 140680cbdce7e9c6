import type { AnnouncedRecord, RecordEvent, RecordEvents } from '#kernel/record-events/record-event.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';

/** Announces records that a write stored, where the structure of the space names an address for it. */
export async function announce(
  { events }: { readonly events: RecordEvents },
  { id, ownerId, structure, stored }: RecordSpace,
  type: RecordEvent['type'],
  records: Iterable<AnnouncedRecord>,
): Promise<void> {
  const webhooks = structure.webhooks ?? stored.webhooks;
  const url = (type === 'record.inserted' ? webhooks?.onInsertUrl : webhooks?.onUpdateUrl) ?? null;
  if (url === null) return;
  const { projectSlug: project, slug } = structure;
  await events.publish({ type, ownerId, spaceId: id, project, space: slug, url, records });
}
