import { comment } from '#server/http/event-stream.ts';
import type { ChangeType } from './live-events.ts';

/** Milliseconds without an event after which a stream sends a sign of life. */
export const aliveEvery = 15_000;
/** Bytes of events that may be queued for a client; with more, only the ids of their records are. */
const mostQueuedBytes = 1024 * 1024;
/** Records whose ids may be queued: all of a find, and as many that left it. With more, all records are read again. */
const mostDeferred = 20_000;
/** Bytes of a queued id. */
const idBytes = 100;
/** The most that is read at once. */
export const readSize = { bytes: 256 * 1024, records: 500 };
const noBytes = Buffer.alloc(0);

/** A change of a record, as an event that streams share. */
export interface ChangeEvent {
  readonly id: string;
  readonly type: ChangeType;
  readonly event: Buffer;
  /** The number of the change. */
  readonly number: number;
  /** When the change became visible. */
  readonly at: number;
  /** Whether no client has the record yet. */
  readonly isNew: boolean;
}

/** A changed record that is read again when the client is ready for it. */
export interface DeferredRecord {
  readonly id: string;
  /** The number of its first change that was not sent: a client that resumes before it misses nothing. */
  readonly number: number;
  readonly at: number;
  readonly isNew: boolean;
  /** The size of its last event. */
  bytes: number;
}

/** Bytes of events that are queued for all clients of a process. */
export interface QueuedBytes {
  bytes: number;
  readonly most: number;
  /** The number of clients. */
  streams: number;
}

/**
 * The bounded queue of one client's events. It has the last event of each record; for a client that is too slow for that,
 * only the ids of the records, which are read when the client is ready. So the queue never has more entries than there are
 * records, however often they change.
 */
export class LiveStream {
  /** Called when the stream ends. */
  onEnd: () => void = () => {};
  /** The last event of each record, by id, in order. */
  readonly #queued = new Map<string, ChangeEvent>();
  /** Records whose events were too many, in the order of their first events. They are sent before `#queued`. */
  readonly #deferred = new Map<string, DeferredRecord>();
  /** Records that are being read. The set is made on the first look-up, which is rare. */
  #reading: readonly string[] | Set<string> = [];
  readonly #share: QueuedBytes;
  #bytes = 0;
  #isReset = false;
  #endedBy: string | null = null;
  #wake: (() => void) | null = null;
  #lastSent = performance.now();

  constructor(share: QueuedBytes) {
    this.#share = share;
  }

  /** Why it ends; null: it continues. */
  get endedBy(): string | null {
    return this.#endedBy;
  }

  get isReset(): boolean {
    return this.#isReset;
  }

  /** Whether there are records to read again. */
  get hasDeferred(): boolean {
    return this.#deferred.size > 0;
  }

  /** Bytes of the last events of deferred records. */
  get deferredBytes(): number {
    let sum = 0;
    for (const { bytes } of this.#deferred.values()) sum += bytes;
    return sum;
  }

  /** The number of the first deferred change; undefined: none. */
  get firstDeferred(): number | undefined {
    const [first] = this.#deferred.values();
    return first?.number;
  }

  /** Called before records are read: the read will be at least as new as their queued events. */
  beginRead(ids: readonly string[]): void {
    this.#reading = ids;
    if (this.#queued.size === 0 && this.#deferred.size === 0) return;
    for (const id of ids) {
      this.#drop(id);
      this.#dropDeferred(id);
    }
  }

  /** Called when every change that the read may have seen has been delivered. */
  endRead(): void {
    this.#reading = [];
  }

  /** Queues an event. It replaces an earlier one of the record that was not sent yet. */
  push(change: ChangeEvent): void {
    if (this.#isReset || this.#endedBy !== null) return;
    const { id, type, event } = change;
    const deferred = this.#deferred.get(id);
    if (deferred !== undefined) {
      deferred.bytes = event.byteLength;
      if (deferred.isNew && type === 'leave') this.#dropDeferred(id);
      return;
    }
    const before = this.#queued.get(id);
    const isNew = before?.isNew ?? (change.isNew && !this.#isRead(id));
    if (before !== undefined) this.#drop(id);
    // it entered and left before the client heard of it
    if (isNew && type === 'leave') return;
    this.#queued.set(id, isNew === change.isNew ? change : withNew(change, isNew));
    this.#count(event.byteLength);
    if (this.#bytes > this.#most) this.#defer();
    this.#wakeUp();
  }

  /** When all queues together are too large, short ones stay: the others belong to slow clients. */
  get #most(): number {
    const { bytes, most, streams } = this.#share;
    return bytes > most ? Math.min(mostQueuedBytes, most / (2 * streams)) : mostQueuedBytes;
  }

  /** Replaces the queued events with the ids of their records. */
  #defer(): void {
    for (const [id, { number, at, isNew, event }] of this.#queued)
      this.#deferred.set(id, { id, number, at, isNew, bytes: event.byteLength });
    this.#share.bytes += this.#queued.size * idBytes;
    this.#queued.clear();
    this.#count(-this.#bytes);
    const { bytes, most, streams } = this.#share;
    const isLarge = bytes > most && this.#deferred.size * idBytes > most / (2 * streams);
    if (isLarge || this.#deferred.size > mostDeferred) this.reset();
  }

  /** Drops the queue: all records must be read again. */
  reset(): void {
    this.clear();
    this.#isReset = true;
    this.#wakeUp();
  }

  /** Starts to queue events for a new read of the records. */
  begin(): void {
    this.clear();
    this.#isReset = false;
  }

  /** @param reason for humans */
  end(reason: string): void {
    if (this.#endedBy !== null) return;
    this.clear();
    this.#endedBy = reason;
    this.#wakeUp();
    this.onEnd();
  }

  clear(): void {
    this.#queued.clear();
    this.#count(-this.#bytes);
    this.#share.bytes -= this.#deferred.size * idBytes;
    this.#deferred.clear();
    this.#reading = [];
  }

  /** Called about once a second. */
  tick(now: number): void {
    if (now - this.#lastSent >= aliveEvery) this.#wakeUp();
  }

  /** Resolves when there is something to send, or a sign of life is due. */
  async next(): Promise<void> {
    if (this.#isReset || this.#endedBy !== null) return;
    if (this.#queued.size > 0 || this.hasDeferred) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Records to read and send now. */
  takeDeferred(): readonly DeferredRecord[] {
    this.#lastSent = performance.now();
    const taken: DeferredRecord[] = [];
    let size = 0;
    for (const deferred of this.#deferred.values()) {
      size += deferred.bytes;
      if (taken.length === readSize.records || (taken.length > 0 && size > readSize.bytes)) break;
      taken.push(deferred);
    }
    return taken;
  }

  /** Takes the queued events, or a sign of life if there are none. */
  take(): { readonly bytes: Buffer; readonly events: number; readonly since: number } {
    this.#lastSent = performance.now();
    const [first] = this.#queued.values();
    if (first === undefined) return { bytes: comment, events: 0, since: this.#lastSent };
    const events = this.#queued.size;
    const bytes = events === 1 ? first.event : Buffer.concat([...this.#queued.values()].map(eventOf));
    this.#queued.clear();
    this.#count(-this.#bytes);
    return { bytes, events, since: first.at };
  }

  /** The same, but no bytes if nothing is queued. */
  takeEvents(): Buffer {
    const { bytes, events } = this.take();
    return events === 0 ? noBytes : bytes;
  }

  #isRead(id: string): boolean {
    if (!(this.#reading instanceof Set)) this.#reading = new Set(this.#reading);
    return this.#reading.has(id);
  }

  #drop(id: string): void {
    const queued = this.#queued.get(id);
    if (queued === undefined) return;
    this.#queued.delete(id);
    this.#count(-queued.event.byteLength);
  }

  #dropDeferred(id: string): void {
    if (this.#deferred.delete(id)) this.#share.bytes -= idBytes;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#share.bytes += bytes;
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

function withNew({ id, type, event, number, at }: ChangeEvent, isNew: boolean): ChangeEvent {
  return { id, type, event, number, at, isNew };
}

function eventOf({ event }: ChangeEvent): Buffer {
  return event;
}
