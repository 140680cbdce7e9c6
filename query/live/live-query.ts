import { createHash } from 'node:crypto';
import type { Conditions } from '#records/input/parse-conditions.ts';
import { shownJson } from '#records/sql/record-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { isShownAlike } from '#records/store/is-shown-alike.ts';
import type { RowChange } from '#records/store/row-change.ts';
import { rowTest } from '#records/store/row-test.ts';
import type { RecordParts } from '#records/structure/record-parts.ts';
import type { ChangeType } from './live-events.ts';
import type { LiveStream } from './live-stream.ts';

/** Most records that a query remembers for its clients. */
const mostMembers = 20_000;
const unknown = '';

/** A live query that streams share: each change is matched once for all of them. */
export class LiveQuery {
  readonly streams = new Set<LiveStream>();
  /** Part of the event ids of its clients. */
  readonly id: string;
  readonly conditions: Conditions;
  readonly shown: RecordParts;
  readonly #test: (row: StoredRow) => boolean;
  readonly #mayGuess: boolean;
  /** Number of the last change that was tried: the index may find a query by several values. */
  lastTried = 0;
  /** The clients' records by id, each with a digest of its last event. Null: the store knows the records' old values. */
  readonly #sent: Map<string, string> | null;
  /** Whether `#sent` has every record that a client may have. */
  #isComplete = true;

  /**
   * @param args.knowsBefore whether changes have the record's old values. If not, the query remembers what its clients have
   * @param args.mayGuess whether a `leave` may be sent for a record that the client never had, once there are too many to
   * remember
   */
  constructor(args: {
    readonly id: string;
    readonly conditions: Conditions;
    readonly shown: RecordParts;
    readonly knowsBefore: boolean;
    readonly mayGuess: boolean;
  }) {
    this.id = args.id;
    this.conditions = args.conditions;
    this.shown = args.shown;
    this.#test = rowTest(args.conditions);
    this.#mayGuess = args.mayGuess;
    this.#sent = args.knowsBefore ? null : new Map();
  }

  /** Null: not remembered, or not all of them. */
  get members(): Pick<ReadonlyMap<string, string>, 'has'> | null {
    return this.#isComplete ? this.#sent : null;
  }

  /** Whether `enter` means that no client has the record. */
  get knowsAll(): boolean {
    return this.#isComplete;
  }

  matches(row: StoredRow): boolean {
    return this.#test(row);
  }

  /** What a change means to the clients; null: it changes nothing that they see. */
  typeOf({ id, before, after }: RowChange): ChangeType | null {
    const isIn = after !== null && this.#test(after);
    // a new record may have changed or left by now, and a snapshot may have included it in between
    const wasIn = this.members?.has(id) ?? (before === undefined || (before !== null && this.#test(before)));
    if (isIn) this.#remember(id);
    else this.#sent?.delete(id);
    if (!isIn) return wasIn ? 'leave' : null;
    if (!wasIn) return 'enter';
    return before && this.#sent === null && isShownAlike(before, after, this.shown) ? null : 'change';
  }

  /** Whether an event must be sent: not if the clients have this version of the record. @param text the record */
  isNews(id: string, type: ChangeType, text: string): boolean {
    if (this.#sent === null || type === 'leave') return true;
    const digest = digestOf(text);
    const isNews = type === 'enter' || this.#sent.get(id) !== digest;
    if (isNews) this.#sent.set(id, digest);
    return isNews;
  }

  /** Notes a record that was read for only one client. */
  noteRead(row: StoredRow): void {
    if (this.#sent === null) return;
    const id = row._id;
    const digest = digestOf(shownJson(row, this.shown));
    const isKnown = this.streams.size === 1 || this.#sent.get(id) === digest;
    this.#remember(id);
    // a change that the other clients lack may be on its way
    this.#sent.set(id, isKnown ? digest : unknown);
  }

  #remember(id: string): void {
    if (this.#sent === null || this.#sent.has(id)) return;
    if (this.#sent.set(id, unknown).size <= mostMembers) return;
    if (this.#mayGuess) {
      this.forget();
      this.#sent.clear();
    } else for (const stream of this.streams) stream.end('the find has too many records');
  }

  /** Marks that the clients may have unknown records. */
  forget(): void {
    this.#isComplete = false;
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
