import { crc32 } from 'node:zlib';
import type { ServerEvent } from './event-reader.ts';

export interface WatchedRecord {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A stream with more records is not compared: their checksums would take the memory of the tool. */
const mostRecords = 2000;

/** The records that the events of a live find add up to (docs/live.md), as checksums by their ids. */
export class WatchedRecords {
  readonly #checksums = new Map<string, number>();
  /** Of changes: `enter`, `change` and `leave`. */
  events = 0;
  /** Whether they are those of one moment. */
  isReady = false;
  /** There are too many to be compared. */
  isTooLarge = false;

  /** @returns the record of an `enter` or a `change`; null for other events */
  apply({ type, data }: ServerEvent): WatchedRecord | null {
    if (type === 'ready') this.isReady = true;
    else if (type === 'reset') this.#checksums.clear();
    else if (type === 'snapshot') for (const record of JSON.parse(data) as WatchedRecord[]) this.#set(record);
    else {
      this.events++;
      const record = JSON.parse(data) as WatchedRecord;
      if (type !== 'leave') {
        this.#set(record);
        return record;
      }
      this.#checksums.delete(record.id);
    }
    return null;
  }

  /** A connection begins anew. */
  forget(): void {
    this.#checksums.clear();
    this.isReady = false;
  }

  /** @param records what a find has @returns ids of records that differ: missing, other, or still there */
  differences(records: readonly WatchedRecord[]): string[] {
    const different: string[] = [];
    const left = new Set(this.#checksums.keys());
    for (const record of records) {
      left.delete(record.id);
      if (this.#checksums.get(record.id) !== checksumOf(record)) different.push(record.id);
    }
    return [...different, ...left];
  }

  #set(record: WatchedRecord): void {
    if (this.isTooLarge) return;
    this.#checksums.set(record.id, checksumOf(record));
    if (this.#checksums.size <= mostRecords) return;
    this.isTooLarge = true;
    this.#checksums.clear();
  }
}

function checksumOf(record: WatchedRecord): number {
  return crc32(JSON.stringify(record));
}
