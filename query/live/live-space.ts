import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import { shownJson } from '#records/sql/record-row.ts';
import type { ChangeListener, RowChange } from '#records/store/row-change.ts';
import type { RecordParts } from '#records/structure/record-parts.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { EventCursors } from './event-cursors.ts';
import { type ChangeType, eventBytes } from './live-events.ts';
import { LiveQuery } from './live-query.ts';
import type { ChangeEvent, LiveStream } from './live-stream.ts';
import { QueryIndex } from './query-index.ts';

/** Changes that a space logs for clients that reconnect, and bytes of all logs of the process. */
const mostLoggedChanges = 10_000;
const droppedAtOnce = 1000;
export const mostLoggedBytes = 64 * 1024 * 1024;
/** Changes that may be queued; with more, streams read their records again. */
const mostQueued = 50_000;
/** Milliseconds for which deliveries may block the event loop. */
const busyFor = 2;
const { signal: never } = new AbortController();
/** Bytes of a logged change besides its values. */
const overhead = 400;

/** Bytes of the change logs of all spaces of the process. */
export interface ChangeLogBytes {
  bytes: number;
  spaces(): number;
}

interface LoggedChange extends RowChange {
  readonly number: number;
  readonly bytes: number;
}

/** The changes of a write that is visible since `at`. Without changes, it marks a moment between writes. */
interface QueuedWrite {
  readonly changes: Iterable<RowChange>;
  readonly count: number;
  readonly at: number;
  /** Whether a read may have seen the changes before they were queued. */
  readonly mayBeSeen?: boolean;
  readonly done?: () => void;
}

/** What a stream watches. */
export interface Subscription {
  /** The space as the request sees it. Equal subscriptions of a view share a query. */
  readonly view: RecordSpace;
  readonly key: string;
  /** Including the conditions of rules. */
  readonly conditions: Conditions;
  readonly shown: RecordParts;
}

/** The subscriptions to one space, and a bounded log of its latest changes. */
export class LiveSpace implements ChangeListener {
  readonly #singleWriter: boolean;
  readonly #allLogs: ChangeLogBytes;
  readonly #log: Pick<Log, 'error'>;
  readonly #queries = new Map<RecordSpace, Map<string, LiveQuery>>();
  readonly #index = new QueryIndex();
  /** Reads of changed rows are exclusive; snapshots share it. */
  readonly #reads = new ReadWriteLock();
  readonly #queue: QueuedWrite[] = [];
  #queuedChanges = 0;
  #delivering = false;
  readonly #cursors = new EventCursors();
  #number = 0;
  #changeLog: LoggedChange[] = [];
  #logBytes = 0;
  #streams = 0;
  /** When the last stream left. */
  idleSince = performance.now();

  /** @param args.singleWriter whether changes have the records' old values */
  constructor(args: {
    readonly singleWriter: boolean;
    readonly logs: ChangeLogBytes;
    readonly log: Pick<Log, 'error'>;
  }) {
    this.#singleWriter = args.singleWriter;
    this.#allLogs = args.logs;
    this.#log = args.log;
  }

  get streams(): number {
    return this.#streams;
  }

  /** The cursor after a change, by default after the last one delivered. */
  cursorOf({ id }: LiveQuery, number = this.#number): string {
    return `${this.#cursors.seal(number)}.${id}`;
  }

  join(stream: LiveStream, { view, key, conditions, shown }: Subscription): LiveQuery {
    const ofView = this.#queries.get(view) ?? new Map<string, LiveQuery>();
    this.#queries.set(view, ofView);
    let query = ofView.get(key);
    if (query === undefined) {
      const { bound, structure } = view;
      // includes the structure and the rules, so that no client resumes another query
      const id = this.#cursors.queryIdOf([key, structure.fields, bound?.find]);
      query = new LiveQuery({
        id,
        conditions,
        shown,
        knowsBefore: this.#singleWriter,
        mayGuess: bound === undefined,
      });
      ofView.set(key, query);
      this.#index.add(query);
    }
    query.streams.add(stream);
    this.#streams++;
    return query;
  }

  leave(stream: LiveStream, query: LiveQuery, { view, key }: Subscription): void {
    query.streams.delete(stream);
    this.#streams--;
    this.idleSince = performance.now();
    if (query.streams.size > 0) return;
    this.#index.remove(query);
    const ofView = this.#queries.get(view);
    ofView?.delete(key);
    if (ofView?.size === 0) this.#queries.delete(view);
  }

  /** Sends a joined stream the changes after a cursor. False: they are not known. */
  resume(
    stream: LiveStream,
    query: LiveQuery,
    { view, cursor }: Pick<Subscription, 'view'> & { cursor: string },
  ): boolean {
    const [sealed = '', id] = cursor.split('.');
    if (id !== query.id) return false;
    const number = this.#cursors.open(sealed) ?? -1;
    const first = this.#changeLog[0]?.number ?? this.#number + 1;
    if (number < Math.max(0, first - 1) || number > this.#number) return false;
    if (!this.#singleWriter) {
      // which records this client has is not known
      if (view.bound !== undefined) return false;
      query.forget();
    }
    const at = performance.now();
    // numbers are consecutive
    for (const change of this.#changeLog.slice(number + 1 - first)) {
      const { id } = change;
      const type = query.typeOf(change);
      if (type === null) continue;
      const event = eventBytes(type, this.cursorOf(query, change.number), dataOf(type, change, query.shown));
      // a snapshot may have been ahead of the cursor
      stream.push({ id, type, event, number: change.number, at, isNew: false });
    }
    return true;
  }

  changed(changes: Iterable<RowChange>, count: number): void {
    if (this.#queuedChanges + count > mostQueued) {
      this.reset();
      return;
    }
    this.#queuedChanges += count;
    // large inserts compute their changes lazily, and their rows are in the table before
    this.#enqueue({ changes, count, at: performance.now(), mayBeSeen: !Array.isArray(changes) });
  }

  /** Resolves when every change that is visible by now has been delivered. */
  caughtUp(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((done) => this.#enqueue({ changes: [], count: 0, at: 0, done }));
  }

  exclusive<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.#reads.exclusive('', read);
  }

  /** Reads rows at least as new as the delivered changes. A store that reads changed rows afterwards waits meanwhile. */
  betweenChanges<Result>(signal: AbortSignal, read: () => Promise<Result>): Promise<Result> {
    return this.#reads.whenShared('', signal, async () => {
      await this.caughtUp();
      return await read();
    });
  }

  reset(): void {
    this.#cursors.renew();
    this.#clearLog();
    for (const { done } of this.#queue.splice(0)) done?.();
    this.#queuedChanges = 0;
    for (const query of this.#index.all()) for (const stream of query.streams) stream.reset();
  }

  #clearLog(): void {
    this.#changeLog = [];
    this.#countBytes(-this.#logBytes);
  }

  #enqueue(write: QueuedWrite): void {
    this.#queue.push(write);
    if (this.#delivering) return;
    this.#delivering = true;
    // acknowledge the write first
    setImmediate(() => {
      this.#deliverAll().catch((error: unknown) => {
        this.#log.error({ err: error }, 'a change could not be delivered: streams read their records again');
        this.#delivering = false;
        this.reset();
      });
    });
  }

  async #deliverAll(): Promise<void> {
    let began = performance.now();
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      for (const change of next.changes) {
        this.#deliver(change, next);
        if (performance.now() - began < busyFor) continue;
        await letOthersRun(never);
        began = performance.now();
        // reset meanwhile
        if (this.#queue[0] !== next) break;
      }
      if (this.#queue[0] !== next) continue;
      this.#queue.shift();
      this.#queuedChanges -= next.count;
      next.done?.();
    }
    this.#delivering = false;
  }

  #deliver(change: RowChange, { at, mayBeSeen }: QueuedWrite): void {
    const { id, before, after } = change;
    const number = ++this.#number;
    this.#record({ id, before, after, number, bytes: overhead + sizeOf(before) + sizeOf(after) });
    // queries that show the same parts share the text
    const texts = new Map<RecordParts, Partial<Record<ChangeType, string>>>();
    let cursor = '';
    for (const query of this.#index.of(change)) {
      if (query.lastTried === number) continue;
      query.lastTried = number;
      const type = query.typeOf(change);
      if (type === null) continue;
      let ofParts = texts.get(query.shown);
      if (ofParts === undefined) {
        ofParts = {};
        texts.set(query.shown, ofParts);
      }
      ofParts[type] ??= dataOf(type, change, query.shown);
      if (!query.isNews(id, type, ofParts[type])) continue;
      cursor ||= this.#cursors.seal(number);
      const bytes = eventBytes(type, `${cursor}.${query.id}`, ofParts[type]);
      const isNew = type === 'enter' && mayBeSeen === false && query.knowsAll;
      const event: ChangeEvent = { id, type, event: bytes, number, at, isNew };
      for (const stream of query.streams) stream.push(event);
    }
  }

  /** Logs a change, and drops the oldest ones if the log is full. */
  #record(change: LoggedChange): void {
    this.#changeLog.push(change);
    this.#countBytes(change.bytes);
    const isFull = this.#changeLog.length >= mostLoggedChanges + droppedAtOnce;
    // when the process has too many, spaces with short logs keep them
    const isLarge =
      this.#allLogs.bytes > mostLoggedBytes &&
      this.#logBytes > mostLoggedBytes / (2 * this.#allLogs.spaces());
    if (!isFull && !isLarge) return;
    // many at once: dropping one would move all the others
    const dropped = this.#changeLog.splice(0, isFull ? droppedAtOnce : Math.ceil(this.#changeLog.length / 2));
    this.#countBytes(-dropped.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #countBytes(bytes: number): void {
    this.#logBytes += bytes;
    this.#allLogs.bytes += bytes;
  }
}

function dataOf(type: ChangeType, { id, after }: RowChange, shown: RecordParts): string {
  return type === 'leave' || after === null ? JSON.stringify({ id }) : shownJson(after, shown);
}

function sizeOf(row: RowChange['before']): number {
  let size = 0;
  for (const text of Object.values(row?._doc ?? {})) size += 2 * text.length;
  return size;
}
