import type { Conditions } from '../input/parse-conditions.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RowChange } from '../store/row-change.ts';
import { rowTest } from '../store/row-test.ts';
import type { RecordParts } from '../structure/record-parts.ts';
import type { ChangeType } from './live-events.ts';
import type { LiveStream } from './live-stream.ts';

/** Ids of records that are remembered for the clients of one query. */
const mostMembers = 20_000;

/** A subscription that streams share: each change is matched once for all of them. */
export class LiveQuery {
  readonly streams = new Set<LiveStream>();
  /** Its id, as a part of its clients' event ids. */
  readonly question: string;
  readonly conditions: Conditions;
  readonly shown: RecordParts;
  readonly #test: (row: StoredRow) => boolean;
  readonly #mayGuess: boolean;
  /** Number of the change that was tried last: it may be found by several values. */
  lastTried = 0;
  #members: Set<string> | null;

  /**
   * @param args.isTold whether the store says what a record was before. If not, the query remembers what its clients have
   * @param args.mayGuess whether clients may hear that a record left which they never had, where too many are to be remembered
   */
  constructor(args: {
    readonly question: string;
    readonly conditions: Conditions;
    readonly shown: RecordParts;
    readonly isTold: boolean;
    readonly mayGuess: boolean;
  }) {
    this.question = args.question;
    this.conditions = args.conditions;
    this.shown = args.shown;
    this.#test = rowTest(args.conditions);
    this.#mayGuess = args.mayGuess;
    this.#members = args.isTold ? null : new Set();
  }

  /** Null: they are not remembered. */
  get members(): ReadonlySet<string> | null {
    return this.#members;
  }

  matches(row: StoredRow): boolean {
    return this.#test(row);
  }

  /** What a change is to the clients; null: nothing. */
  typeOf({ id, before, after }: RowChange): ChangeType | null {
    const isIn = after !== null && this.#test(after);
    // a new record may be changed or gone by now, and a snapshot may have had it in between
    const wasIn = this.#members?.has(id) ?? (before === undefined || (before !== null && this.#test(before)));
    if (isIn) this.has(id);
    else this.#members?.delete(id);
    if (isIn) return wasIn ? 'change' : 'enter';
    return wasIn ? 'leave' : null;
  }

  /** Notes that clients have the record. */
  has(id: string): void {
    if (this.#members === null || this.#members.add(id).size <= mostMembers) return;
    if (this.#mayGuess) this.forget();
    else for (const stream of this.streams) stream.end('it has too many records by now');
  }

  /** From now on nothing is known of what clients have. */
  forget(): void {
    this.#members = null;
  }
}
