/** A stored record as answers show it: JSON text without hashed fields. */
export interface AnnouncedRecord {
  readonly id: string;
  readonly json: string;
}

/** Records that one write stored in a space, and the address that its structure names for that. */
export interface RecordEvent {
  readonly type: 'record.inserted' | 'record.updated';
  readonly ownerId: string;
  readonly spaceId: string;
  readonly project: string;
  readonly space: string;
  readonly url: string;
  /** Made as they are taken, so that they are never all in memory. */
  readonly records: Iterable<AnnouncedRecord>;
}

/** A listener for writes. */
export interface RecordEvents {
  /** For a write that is durable. Resolves when the event is durable too: only then may the write be acknowledged. */
  publish(event: RecordEvent): Promise<void>;
}
