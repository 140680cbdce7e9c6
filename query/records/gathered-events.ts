import type { AnnouncedRecord, RecordEvent, RecordEvents } from '#kernel/record-events/record-event.ts';

/** Gathers the events of a request's writes to one space, and publishes one event of each type. */
export class GatheredEvents implements RecordEvents {
  readonly #events: RecordEvents;
  /** Null: already published. */
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
