import { comment } from '#server/http/event-stream.ts';
import type { ChangeType } from './live-events.ts';

/** Milliseconds without an event, after which a stream says that it is alive. */
export const aliveEvery = 15_000;
/** Bytes of events that may wait for a client; with more, only the ids of their records wait. */
const mostWaiting = 1024 * 1024;
/** Records that may wait by their ids: all of a find, and as many that left it. With more they are all read again. */
const mostLate = 20_000;
/** Bytes of an id that waits. */
const idBytes = 100;
/** What is sent at once, at most. */
export const eventSize = { bytes: 256 * 1024, records: 500 };
const noBytes = Buffer.alloc(0);

/** What happened to a record. Streams share it. */
export interface Told {
  readonly id: string;
  readonly type: ChangeType;
  readonly event: Buffer;
  /** Of the change. */
  readonly number: number;
  /** When it could be seen. */
  readonly at: number;
  /** Whether no client has the record yet. */
  readonly isNew: boolean;
}

/** A record that changed: it is sent as it is when the client takes it. */
export interface Late {
  readonly id: string;
  /** Of the first change that waits: a client that resumes from there misses nothing. */
  readonly number: number;
  readonly at: number;
  readonly isNew: boolean;
  /** Of its last event. */
  bytes: number;
}

/** Bytes of events that wait for the clients of a process. */
export interface WaitingBytes {
  bytes: number;
  readonly most: number;
  /** How many clients there are. */
  streams: number;
}

/**
 * The queue of one client's events, which is bounded: the last event of each record, and for a client that is too slow
 * for these the ids of the records, which are read when it takes them. So whatever changes how often, no more waits than
 * there are records.
 */
export class LiveStream {
  /** Called when it ends. */
  onEnd: () => void = () => {};
  /** The last events of records, by id, in their order. */
  readonly #waiting = new Map<string, Told>();
  /** Records whose events were too many, in the order of the first ones. They are sent before `#waiting`. */
  readonly #late = new Map<string, Late>();
  /** Records that are being read. Mostly nobody asks for one meanwhile, so the set is made where somebody does. */
  #reading: readonly string[] | Set<string> = [];
  readonly #share: WaitingBytes;
  #bytes = 0;
  #isReset = false;
  #endedBy: string | null = null;
  #wake: (() => void) | null = null;
  #lastSent = performance.now();

  constructor(share: WaitingBytes) {
    this.#share = share;
  }

  /** Why it ends; null: it goes on. */
  get endedBy(): string | null {
    return this.#endedBy;
  }

  get isReset(): boolean {
    return this.#isReset;
  }

  /** Whether records wait to be read. */
  get hasLate(): boolean {
    return this.#late.size > 0;
  }

  /** Bytes of the events of records that wait to be read. */
  get lateBytes(): number {
    let sum = 0;
    for (const { bytes } of this.#late.values()) sum += bytes;
    return sum;
  }

  /** The number of the first change that waits for a record to be read; undefined: none does. */
  get firstLate(): number | undefined {
    const [first] = this.#late.values();
    return first?.number;
  }

  /** To be called before records are read, which are then as they are told, or newer. */
  beginRead(ids: readonly string[]): void {
    this.#reading = ids;
    if (this.#waiting.size === 0 && this.#late.size === 0) return;
    for (const id of ids) {
      this.#drop(id);
      this.#dropLate(id);
    }
  }

  /** To be called when all is told that the read may have seen. */
  endRead(): void {
    this.#reading = [];
  }

  /** An event of a record, in place of an earlier one that the client has not taken. */
  push(told: Told): void {
    if (this.#isReset || this.#endedBy !== null) return;
    const { id, type, event } = told;
    const late = this.#late.get(id);
    if (late !== undefined) {
      late.bytes = event.byteLength;
      if (late.isNew && type === 'leave') this.#dropLate(id);
      return;
    }
    const before = this.#waiting.get(id);
    const isNew = before?.isNew ?? (told.isNew && !this.#isRead(id));
    if (before !== undefined) this.#drop(id);
    // it came and went meanwhile
    if (isNew && type === 'leave') return;
    this.#waiting.set(id, isNew === told.isNew ? told : withNew(told, isNew));
    this.#count(event.byteLength);
    if (this.#bytes > this.#most) this.#keepIds();
    this.#wakeUp();
  }

  /** When all streams together have too much, those with little keep it: the others are slow. */
  get #most(): number {
    const { bytes, most, streams } = this.#share;
    return bytes > most ? Math.min(mostWaiting, most / (2 * streams)) : mostWaiting;
  }

  /** Of the events that wait only the ids are kept. */
  #keepIds(): void {
    for (const [id, { number, at, isNew, event }] of this.#waiting)
      this.#late.set(id, { id, number, at, isNew, bytes: event.byteLength });
    this.#share.bytes += this.#waiting.size * idBytes;
    this.#waiting.clear();
    this.#count(-this.#bytes);
    const { bytes, most, streams } = this.#share;
    const isLarge = bytes > most && this.#late.size * idBytes > most / (2 * streams);
    if (isLarge || this.#late.size > mostLate) this.reset();
  }

  /** Drops all that waits: the records are to be read again. */
  reset(): void {
    this.clear();
    this.#isReset = true;
    this.#wakeUp();
  }

  /** From now on events wait for what is read. */
  begin(): void {
    this.clear();
    this.#isReset = false;
  }

  /** @param reason for people */
  end(reason: string): void {
    if (this.#endedBy !== null) return;
    this.clear();
    this.#endedBy = reason;
    this.#wakeUp();
    this.onEnd();
  }

  clear(): void {
    this.#waiting.clear();
    this.#count(-this.#bytes);
    this.#share.bytes -= this.#late.size * idBytes;
    this.#late.clear();
    this.#reading = [];
  }

  /** To be called every second or so. */
  tick(now: number): void {
    if (now - this.#lastSent >= aliveEvery) this.#wakeUp();
  }

  /** Resolves when there is something to send, or the client should hear that the stream is alive. */
  async next(): Promise<void> {
    if (this.#isReset || this.#endedBy !== null) return;
    if (this.#waiting.size > 0 || this.hasLate) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Records that are to be read and sent now. */
  takeLate(): readonly Late[] {
    this.#lastSent = performance.now();
    const taken: Late[] = [];
    let size = 0;
    for (const late of this.#late.values()) {
      size += late.bytes;
      if (taken.length === eventSize.records || (taken.length > 0 && size > eventSize.bytes)) break;
      taken.push(late);
    }
    return taken;
  }

  /** What waits, as bytes. */
  take(): { readonly bytes: Buffer; readonly events: number; readonly since: number } {
    this.#lastSent = performance.now();
    const [first] = this.#waiting.values();
    if (first === undefined) return { bytes: comment, events: 0, since: this.#lastSent };
    const events = this.#waiting.size;
    const bytes = events === 1 ? first.event : Buffer.concat([...this.#waiting.values()].map(eventOf));
    this.#waiting.clear();
    this.#count(-this.#bytes);
    return { bytes, events, since: first.at };
  }

  /** The same, and no bytes where nothing waits. */
  takeEvents(): Buffer {
    const { bytes, events } = this.take();
    return events === 0 ? noBytes : bytes;
  }

  #isRead(id: string): boolean {
    if (!(this.#reading instanceof Set)) this.#reading = new Set(this.#reading);
    return this.#reading.has(id);
  }

  #drop(id: string): void {
    const told = this.#waiting.get(id);
    if (told === undefined) return;
    this.#waiting.delete(id);
    this.#count(-told.event.byteLength);
  }

  #dropLate(id: string): void {
    if (this.#late.delete(id)) this.#share.bytes -= idBytes;
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

function withNew({ id, type, event, number, at }: Told, isNew: boolean): Told {
  return { id, type, event, number, at, isNew };
}

function eventOf({ event }: Told): Buffer {
  return event;
}
