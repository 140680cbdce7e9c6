import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import { shownJson } from '#records/sql/record-row.ts';
import type { ChangeListener, RowChange } from '#records/store/row-change.ts';
import type { RecordParts } from '#records/structure/record-parts.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type ChangeType, eventBytes } from './live-events.ts';
import { LivePlaces } from './live-places.ts';
import { LiveQuery } from './live-query.ts';
import type { LiveStream, Told } from './live-stream.ts';
import { QueryIndex } from './query-index.ts';

/** Changes that are kept for those who come back, and bytes of them in the process. */
const keptChanges = 10_000;
const droppedAtOnce = 1000;
export const keptBytes = 64 * 1024 * 1024;
/** Changes that may wait; with more, streams read their records again. */
const mostWaiting = 50_000;
/** Milliseconds that telling keeps the event loop from everything else. */
const busyFor = 2;
const { signal: never } = new AbortController();
/** Bytes of a kept change beside its values. */
const overhead = 400;

/** Bytes of changes that all spaces of the process keep. */
export interface KeptBytes {
  bytes: number;
  spaces(): number;
}

interface Kept extends RowChange {
  readonly number: number;
  readonly bytes: number;
}

/** Changes of a write that is visible since `at`; without changes, a moment between writes. */
interface Waiting {
  readonly changes: Iterable<RowChange>;
  readonly count: number;
  readonly at: number;
  /** Whether a read may have seen them before they came here. */
  readonly wereSeen?: boolean;
  readonly told?: () => void;
}

/** What is asked, as `LiveQuery` has it. */
export interface Asked {
  /** As the request sees it: equal questions of one view are one. */
  readonly view: RecordSpace;
  readonly key: string;
  /** With those of rules. */
  readonly conditions: Conditions;
  readonly shown: RecordParts;
}

/** The subscriptions to one space, and a bounded log of its latest changes. */
export class LiveSpace implements ChangeListener {
  readonly #singleWriter: boolean;
  readonly #kept: KeptBytes;
  readonly #log: Pick<Log, 'error'>;
  readonly #queries = new Map<RecordSpace, Map<string, LiveQuery>>();
  readonly #index = new QueryIndex();
  /** Changed rows are read alone, and snapshots beside each other. */
  readonly #reads = new ReadWriteLock();
  readonly #waiting: Waiting[] = [];
  #waitingCount = 0;
  #telling = false;
  readonly #places = new LivePlaces();
  #number = 0;
  #changes: Kept[] = [];
  #bytes = 0;
  #streams = 0;
  /** When the last stream left. */
  idleSince = performance.now();

  /** @param args.alone whether the store says what records were before */
  constructor(args: {
    readonly singleWriter: boolean;
    readonly kept: KeptBytes;
    readonly log: Pick<Log, 'error'>;
  }) {
    this.#singleWriter = args.singleWriter;
    this.#kept = args.kept;
    this.#log = args.log;
  }

  get streams(): number {
    return this.#streams;
  }

  /** Behind a change, or behind the last one that was told. */
  placeOf({ question }: LiveQuery, number = this.#number): string {
    return `${this.#places.seal(number)}.${question}`;
  }

  join(stream: LiveStream, { view, key, conditions, shown }: Asked): LiveQuery {
    const ofView = this.#queries.get(view) ?? new Map<string, LiveQuery>();
    this.#queries.set(view, ofView);
    let query = ofView.get(key);
    if (query === undefined) {
      const { bound, structure } = view;
      // with its structure and rules, so that no client resumes from another one's place
      const question = this.#places.questionOf([key, structure.fields, bound?.find]);
      query = new LiveQuery({
        question,
        conditions,
        shown,
        isTold: this.#singleWriter,
        mayGuess: bound === undefined,
      });
      ofView.set(key, query);
      this.#index.add(query);
    }
    query.streams.add(stream);
    this.#streams++;
    return query;
  }

  leave(stream: LiveStream, query: LiveQuery, { view, key }: Asked): void {
    query.streams.delete(stream);
    this.#streams--;
    this.idleSince = performance.now();
    if (query.streams.size > 0) return;
    this.#index.remove(query);
    const ofView = this.#queries.get(view);
    ofView?.delete(key);
    if (ofView?.size === 0) this.#queries.delete(view);
  }

  /** Tells a stream that has joined what came behind a place. False: that is not known. */
  resume(
    stream: LiveStream,
    query: LiveQuery,
    { view, place }: Pick<Asked, 'view'> & { place: string },
  ): boolean {
    const [sealed = '', question] = place.split('.');
    if (question !== query.question) return false;
    const number = this.#places.open(sealed) ?? -1;
    const first = this.#changes[0]?.number ?? this.#number + 1;
    if (number < Math.max(0, first - 1) || number > this.#number) return false;
    if (!this.#singleWriter) {
      // what this client has is not known
      if (view.bound !== undefined) return false;
      query.forget();
    }
    const at = performance.now();
    // one number follows the other
    for (const change of this.#changes.slice(number + 1 - first)) {
      const { id } = change;
      const type = query.typeOf(change);
      if (type === null) continue;
      const event = eventBytes(type, this.placeOf(query, change.number), dataOf(type, change, query.shown));
      // a snapshot may have been ahead of the place
      stream.push({ id, type, event, number: change.number, at, isNew: false });
    }
    return true;
  }

  changed(changes: Iterable<RowChange>, count: number): void {
    if (this.#waitingCount + count > mostWaiting) {
      this.reset();
      return;
    }
    this.#waitingCount += count;
    // large inserts, whose changes are made later, are in the table before they are told
    this.#add({ changes, count, at: performance.now(), wereSeen: !Array.isArray(changes) });
  }

  /** Resolves when the streams were told of everything that can be seen by now. */
  caughtUp(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((told) => this.#add({ changes: [], count: 0, at: 0, told }));
  }

  exclusive<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.#reads.exclusive('', read);
  }

  /** Reads rows that are as they were told, or newer. Where the store reads changed rows later, it waits meanwhile. */
  betweenChanges<Result>(signal: AbortSignal, read: () => Promise<Result>): Promise<Result> {
    return this.#reads.whenShared('', signal, async () => {
      await this.caughtUp();
      return await read();
    });
  }

  reset(): void {
    this.#places.renew();
    this.#forget();
    for (const { told } of this.#waiting.splice(0)) told?.();
    this.#waitingCount = 0;
    for (const query of this.#index.all()) for (const stream of query.streams) stream.reset();
  }

  /** Forgets the changes that were told. */
  #forget(): void {
    this.#changes = [];
    this.#count(-this.#bytes);
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#telling) return;
    this.#telling = true;
    // the write is acknowledged first
    setImmediate(() => {
      this.#tellAll().catch((error: unknown) => {
        this.#log.error(
          { err: error },
          'streams could not be told of a change: they read their records again',
        );
        this.#telling = false;
        this.reset();
      });
    });
  }

  async #tellAll(): Promise<void> {
    let began = performance.now();
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      for (const change of next.changes) {
        this.#tell(change, next);
        if (performance.now() - began < busyFor) continue;
        await letOthersRun(never);
        began = performance.now();
        // it was reset
        if (this.#waiting[0] !== next) break;
      }
      if (this.#waiting[0] !== next) continue;
      this.#waiting.shift();
      this.#waitingCount -= next.count;
      next.told?.();
    }
    this.#telling = false;
  }

  #tell(change: RowChange, { at, wereSeen }: Waiting): void {
    const { id, before, after } = change;
    const number = ++this.#number;
    this.#keep({ id, before, after, number, bytes: overhead + sizeOf(before) + sizeOf(after) });
    // queries that show the same share its text
    const made = new Map<RecordParts, Partial<Record<ChangeType, string>>>();
    let place = '';
    for (const query of this.#index.of(change)) {
      if (query.lastTried === number) continue;
      query.lastTried = number;
      const type = query.typeOf(change);
      if (type === null) continue;
      let ofParts = made.get(query.shown);
      if (ofParts === undefined) {
        ofParts = {};
        made.set(query.shown, ofParts);
      }
      ofParts[type] ??= dataOf(type, change, query.shown);
      if (!query.isNews(id, type, ofParts[type])) continue;
      place ||= this.#places.seal(number);
      const event = eventBytes(type, `${place}.${query.question}`, ofParts[type]);
      const isNew = type === 'enter' && wereSeen === false && query.knowsAll;
      const told: Told = { id, type, event, number, at, isNew };
      for (const stream of query.streams) stream.push(told);
    }
  }

  #keep(change: Kept): void {
    this.#changes.push(change);
    this.#count(change.bytes);
    const isFull = this.#changes.length >= keptChanges + droppedAtOnce;
    // where there is too much, spaces with little keep it
    const isLarge = this.#kept.bytes > keptBytes && this.#bytes > keptBytes / (2 * this.#kept.spaces());
    if (!isFull && !isLarge) return;
    // not one by one: each would move all that are left
    const dropped = this.#changes.splice(0, isFull ? droppedAtOnce : Math.ceil(this.#changes.length / 2));
    this.#count(-dropped.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#kept.bytes += bytes;
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
