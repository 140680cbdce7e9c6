import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../http/connection.ts';
import { within } from '../http/within.ts';
import { EventReader } from './event-reader.ts';
import { type WatchedRecord, WatchedRecords } from './watched-records.ts';

/** How a live find is asked for. */
export interface LiveFind {
  /** The head of the request without its empty line. */
  readonly head: string;
  connect(signal: AbortSignal): Promise<Connection>;
  /** The records that the same find has now. */
  find(signal: AbortSignal): Promise<readonly WatchedRecord[]>;
  /** An event told of a record that is new or was changed. */
  heard?(record: WatchedRecord): void;
}

/** Milliseconds before a stream that ended is opened again, at least and at most: as docs/live.md asks of clients. */
const leastPause = 1000;
const mostPause = 5000;
/** Milliseconds that a stream may lag behind an acknowledged write, and some more. */
const lag = 1500;
const comparisons = 4;
/** Milliseconds for a find that a stream is compared with. */
const findTimeout = 10_000;
/** Milliseconds until a stream counts as open. */
const longestSnapshot = 30_000;
/** Bytes of a refusal that are kept; of a stream that is a part of its snapshot. */
const keptBytes = 1024;

/** One live find, which is opened again when it ends. */
export class LiveStream {
  readonly records = new WatchedRecords();
  /** How often it ended or was refused, and why last. */
  ends = 0;
  lastEnd = '';
  /** Resolves when it has all records, or was refused. */
  readonly settled: Promise<void>;
  #settle: () => void = () => {};
  readonly #find: LiveFind;
  readonly #end = new AbortController();
  #lastEventId = '';

  constructor(find: LiveFind) {
    this.#find = find;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // a stream of what has no end of changes is open as well
    setTimeout(this.#settle, longestSnapshot).unref();
    void this.#run();
  }

  close(): void {
    this.#end.abort(new Error('the stream is closed'));
  }

  /** @returns ids of records that it should have told of, and has not; null: it is not open, or has too many records */
  async lost(): Promise<readonly string[] | null> {
    let lost: readonly string[] = [];
    for (let attempt = 0; attempt < comparisons; attempt++) {
      if (!this.records.isReady || this.records.isTooLarge) return null;
      lost = this.records.differences(
        await within(this.#end.signal, findTimeout, (limit) => this.#find.find(limit)),
      );
      if (lost.length === 0) break;
      await sleep(lag, undefined, { signal: this.#end.signal });
    }
    return lost;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      this.lastEnd = await this.#openOnce().catch(
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      );
      this.#settle();
      if (signal.aborted) return;
      this.ends++;
      this.records.isReady = false;
      const pause = leastPause + Math.random() * (mostPause - leastPause);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }

  /** @returns why it ended */
  async #openOnce(): Promise<string> {
    const { signal } = this.#end;
    const connection = await this.#find.connect(signal);
    const reader = new EventReader((event) => {
      this.#lastEventId = event.id;
      const changed = this.records.apply(event);
      if (changed !== null) this.#find.heard?.(changed);
      if (event.type === 'ready') this.#settle();
    });
    // what the server still knows of continues
    const resume = this.#lastEventId === '' ? '' : `last-event-id: ${this.#lastEventId}\r\n`;
    if (resume === '') this.records.forget();
    try {
      const { status, body } = await connection.send(`${this.#find.head}${resume}\r\n`, undefined, {
        signal,
        keep: keptBytes,
        onBody: (bytes) => reader.add(bytes),
      });
      if (status === 200) return 'ended';
      this.#lastEventId = '';
      return /"code":"([a-z_]+)"/.exec(body.toString('latin1'))?.[1] ?? `${status}`;
    } finally {
      connection.close();
    }
  }
}
