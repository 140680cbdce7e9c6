import { aliveBytes } from './live-events.ts';

/** Milliseconds without an event, after which a stream says that it is alive. */
export const aliveEvery = 15_000;
/** Bytes of events that may wait for a client; one with more gets a snapshot instead. */
const mostWaiting = 1024 * 1024;
const noBytes = Buffer.alloc(0);

/** Bytes of events that wait for the clients of a process. */
export interface WaitingBytes {
  bytes: number;
  readonly most: number;
  /** How many clients there are. */
  streams: number;
}

/** The queue of one client's events, which is bounded: a client that is too slow gets a snapshot. */
export class LiveStream {
  /** Called when it ends. */
  onEnd: () => void = () => {};
  /** The last events of records, by id, in their order. */
  readonly #waiting = new Map<string, Buffer>();
  readonly #share: WaitingBytes;
  #bytes = 0;
  /** When the first of those that wait could be seen. */
  #since = 0;
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

  /** To be called before records are read for a snapshot, which has them then as they are told, or newer. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#drop(id);
  }

  /** An event of a record, in place of an earlier one that the client has not taken. @param at when it could be seen */
  push(id: string, event: Buffer, at: number): void {
    if (this.#isReset || this.#endedBy !== null) return;
    this.#drop(id);
    if (this.#waiting.size === 0) this.#since = at;
    this.#waiting.set(id, event);
    this.#count(event.byteLength);
    if (this.#bytes > this.#most) this.reset();
    else this.#wakeUp();
  }

  /** When all streams together have too much, those with little keep it: the others are slow. */
  get #most(): number {
    const { bytes, most, streams } = this.#share;
    return bytes > most ? Math.min(mostWaiting, most / (2 * streams)) : mostWaiting;
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
  }

  /** To be called every second or so. */
  tick(now: number): void {
    if (now - this.#lastSent >= aliveEvery) this.#wakeUp();
  }

  /** Resolves when there is something to send, or the client should hear that the stream is alive. */
  async next(): Promise<void> {
    if (this.#isReset || this.#endedBy !== null || this.#waiting.size > 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** What waits, as bytes. */
  take(): { readonly bytes: Buffer; readonly events: number; readonly since: number } {
    this.#lastSent = performance.now();
    const events = this.#waiting.size;
    if (events === 0) return { bytes: aliveBytes, events, since: this.#lastSent };
    const all = [...this.#waiting.values()];
    const bytes = all.length === 1 ? (all[0] as Buffer) : Buffer.concat(all);
    this.clear();
    return { bytes, events, since: this.#since };
  }

  /** The same, and no bytes where nothing waits. */
  takeEvents(): Buffer {
    const { bytes, events } = this.take();
    return events === 0 ? noBytes : bytes;
  }

  #drop(id: string): void {
    const event = this.#waiting.get(id);
    if (event === undefined) return;
    this.#waiting.delete(id);
    this.#count(-event.byteLength);
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
