import type { AnnouncedRecord, RecordEvent, RecordEvents } from '#kernel/record-events/record-event.ts';
import { newRecordJson } from './sql/new-record.ts';
import { storedJson } from './sql/record-row.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type {
  ChangeOutcome,
  ChangeStep,
  NewRecords,
  RecordChange,
  RecordWrites,
} from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';
import type { Webhooks } from './structure/structure.ts';

type Invalidated = ChangeOutcome['invalidated'];

/**
 * Writes that call webhooks. Every record that a request stores or changes passes through here, so no operation can forget
 * them. What `RecordStore.rewrite` does calls no address: imports, initial data and deletions of all records.
 */
export class AnnouncedWrites implements RecordWrites {
  readonly #writes: RecordWrites;
  readonly #events: RecordEvents;

  constructor(writes: RecordWrites, events: RecordEvents) {
    this.#writes = writes;
    this.#events = events;
  }

  insert(added: NewRecords): ReturnType<RecordWrites['insert']> {
    const url = webhooksOf(added.space)?.onInsertUrl ?? null;
    return url === null ? this.#writes.insert(added) : this.#insert(added, url);
  }

  change(change: RecordChange): Promise<ChangeOutcome> {
    const url = webhooksOf(change.space)?.onUpdateUrl ?? null;
    return url === null ? this.#writes.change(change) : this.#change(change, url);
  }

  async #insert(added: NewRecords, url: string): ReturnType<RecordWrites['insert']> {
    const { space, records, events = this.#events } = added;
    const { invalidated } = await this.#writes.insert(added);
    function* announced(): Generator<AnnouncedRecord> {
      for (const record of records) yield { id: record.id, json: newRecordJson(space.structure, record) };
    }
    const event = eventOf(space, { type: 'record.inserted', url, records: announced() });
    return { invalidated: published(invalidated, () => events.publish(event)) };
  }

  async #change(change: RecordChange, url: string): Promise<ChangeOutcome> {
    const { space, steps, events = this.#events } = change;
    const { rows, invalidated } = await this.#writes.change(change);
    const updated = rows.filter((row, at): row is StoredRow => row !== null && !isRemoval(steps[at]));
    if (updated.length === 0) return { rows, invalidated };
    // several steps of one record belong to several requests: each step has its own call
    const calls = steps[0]?.id === steps[1]?.id ? updated.map((row) => [row]) : [updated];
    const publish = async (): Promise<void> => {
      await Promise.all(calls.map((some) => events.publish(updatedEvent(space, url, some))));
    };
    return { rows, invalidated: published(invalidated, publish) };
  }
}

/** By the request, or else as they are stored. */
function webhooksOf({ structure, stored }: RecordSpace): Webhooks | null {
  return structure.webhooks ?? stored.webhooks;
}

function isRemoval(step: ChangeStep | undefined): boolean {
  return step?.assignments === null;
}

function updatedEvent(space: RecordSpace, url: string, rows: readonly StoredRow[]): RecordEvent {
  function* announced(): Generator<AnnouncedRecord> {
    for (const row of rows) yield { id: row._id, json: storedJson(space.structure, row) };
  }
  return eventOf(space, { type: 'record.updated', url, records: announced() });
}

function eventOf(
  { id, ownerId, structure }: RecordSpace,
  { type, url, records }: Pick<RecordEvent, 'type' | 'url' | 'records'>,
): RecordEvent {
  return { type, ownerId, spaceId: id, project: structure.projectSlug, space: structure.slug, url, records };
}

/** Resolves when the write may be acknowledged. Caches are invalidated first, so the receiver of a call reads the new state. */
function published(invalidated: Invalidated, publish: () => Promise<void>): Promise<void> {
  const done = invalidated === null ? publish() : invalidated.then(publish);
  // the client may have disconnected, and then nobody waits for this
  done.catch(() => {});
  return done;
}
