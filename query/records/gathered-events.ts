import type { AnnouncedRecord, RecordEvent, RecordEvents } from '#kernel/record-events/record-event.ts';

/** Events of several writes of one request to one space, which are published as one of each type. */
export class GatheredEvents implements RecordEvents {
  readonly #events: RecordEvents;
  /** Null: they are published. */
  #gathered: RecordEvent[] | null = [];

  constructor(events: RecordEvents) {
    this.#events = events;
  }

  async publish(event: RecordEvent): Promise<void> {
    // a write that ends after its request has failed is published by itself
    if (this.#gathered === null) return this.#events.publish(event);
    this.#gathered.push(event);
  }

  /** Publishes what was gathered: new records first. */
  async end(): Promise<void> {
    const gathered = this.#gathered ?? [];
    this.#gathered = null;
    for (const type of ['record.inserted', 'record.updated'] as const) {
      const some = gathered.filter((event) => event.type === type);
      const [first] = some;
      if (first !== undefined) await this.#events.publish({ ...first, records: recordsOf(some) });
    }
  }
}

function* recordsOf(events: readonly RecordEvent[]): Generator<AnnouncedRecord> {
  for (const { records } of events) yield* records;
}
