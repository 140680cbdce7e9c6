import type { AnnouncedRecord, RecordEvent, RecordEvents } from '../../common/record-events/record-event.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/** Announces records that a write stored, where the structure of the space names an address for it. */
export type Announce = (
  space: RecordSpace,
  type: RecordEvent['type'],
  records: Iterable<AnnouncedRecord>,
) => Promise<void>;

export function createAnnounce(events: RecordEvents): Announce {
  return async ({ id, ownerId, structure, stored }, type, records) => {
    const webhooks = structure.webhooks ?? stored.webhooks;
    const url = (type === 'record.inserted' ? webhooks?.onInsertUrl : webhooks?.onUpdateUrl) ?? null;
    if (url === null) return;
    const { projectSlug: project, slug } = structure;
    await events.publish({ type, ownerId, spaceId: id, project, space: slug, url, records });
  };
}
