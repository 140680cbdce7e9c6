/** One operation on something that has a state, as its client saw it. */
export interface Operation<State> {
  /** For the reader of a failure. */
  readonly name: string;
  /** When it was asked for and when it was answered, by one clock; Infinity: nobody knows whether it was made. */
  readonly start: number;
  readonly end: number;
  /** A read leaves the state as it is, whatever it was told. */
  readonly kind: 'read' | 'write';
  /** The state after it; undefined: in this state it can't have been answered as it was. */
  apply(state: State): State | undefined;
}

/** What may have happened so far: a state, and which of the operations that are under way have had their effect. */
interface Configuration<State> {
  readonly state: State;
  readonly done: ReadonlySet<number>;
}

/**
 * Why a history of one thing can't be put in an order in which every operation is answered as it was and none comes before
 * another that had ended; null: it is linearizable. An operation takes effect as late as it can, and all that may have
 * happened is kept: Lowe, Testing for Linearizability (Concurrency and Computation 29, 2017), section 5.
 *
 * @param keyOf tells states apart
 */
export function historyProblem<State>(
  history: readonly Operation<State>[],
  initial: State,
  keyOf: (state: State) => string,
): string | null {
  const check = new HistoryCheck(history, initial, keyOf);
  for (const { at, index } of eventsOf(history)) {
    if (at === 'start') check.begin(index);
    else if (!check.end(index)) return check.explain(index);
  }
  return null;
}

function eventsOf(history: readonly Operation<unknown>[]): { at: 'start' | 'end'; index: number }[] {
  return (
    history
      .flatMap(({ start, end }, index) => [
        { at: 'start' as const, time: start, index },
        ...(end === Number.POSITIVE_INFINITY ? [] : [{ at: 'end' as const, time: end, index }]),
      ])
      // what ends and begins in one moment overlaps
      .sort((a, b) => a.time - b.time || (a.at === b.at ? 0 : a.at === 'start' ? -1 : 1))
  );
}

class HistoryCheck<State> {
  readonly #history: readonly Operation<State>[];
  readonly #keyOf: (state: State) => string;
  /** Operations that began and have not ended. */
  readonly #open = new Set<number>();
  #configurations: readonly Configuration<State>[];
  #before: readonly Configuration<State>[] = [];

  constructor(history: readonly Operation<State>[], initial: State, keyOf: (state: State) => string) {
    this.#history = history;
    this.#keyOf = keyOf;
    this.#configurations = [{ state: initial, done: new Set() }];
  }

  begin(index: number): void {
    this.#open.add(index);
    if (this.#history[index]?.kind !== 'read') return;
    this.#configurations = this.#configurations.map((configuration) => this.#read(configuration, [index]));
  }

  /** False: nothing that may have happened lets the operation end. */
  end(index: number): boolean {
    this.#before = this.#configurations;
    const ended = new Map<string, Configuration<State>>();
    const seen = new Set<string>();
    const left = [...this.#configurations];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (next.done.has(index)) {
        const done = new Set(next.done);
        done.delete(index);
        const without = { state: next.state, done };
        ended.set(this.#nameOf(without), without);
        continue;
      }
      for (const after of this.#successors(next)) {
        const name = this.#nameOf(after);
        if (!seen.has(name)) left.push(after);
        seen.add(name);
      }
    }
    this.#open.delete(index);
    this.#configurations = [...ended.values()];
    return ended.size > 0;
  }

  explain(index: number): string {
    const { name, start, end } = this.#history[index] as Operation<State>;
    const states = [...new Set(this.#before.map(({ state }) => this.#keyOf(state)))];
    return `${name} from ${start.toFixed(1)} to ${end.toFixed(1)}, when only ${states.join(' or ')} was possible`;
  }

  /** With one more write that is under way. */
  #successors({ state, done }: Configuration<State>): Configuration<State>[] {
    const successors: Configuration<State>[] = [];
    for (const index of this.#open) {
      const operation = this.#history[index] as Operation<State>;
      if (operation.kind === 'read' || done.has(index)) continue;
      const after = operation.apply(state);
      if (after === undefined) continue;
      successors.push(this.#read({ state: after, done: new Set(done).add(index) }, this.#open));
    }
    return successors;
  }

  /** With all reads that the state answers: that one is made now is never in the way of anything later. */
  #read(configuration: Configuration<State>, among: Iterable<number>): Configuration<State> {
    const { state, done } = configuration;
    const now: number[] = [];
    for (const index of among) {
      const operation = this.#history[index] as Operation<State>;
      if (operation.kind === 'read' && !done.has(index) && operation.apply(state) !== undefined)
        now.push(index);
    }
    return now.length === 0 ? configuration : { state, done: new Set([...done, ...now]) };
  }

  #nameOf({ state, done }: Configuration<State>): string {
    return `${this.#keyOf(state)} ${[...done].sort((a, b) => a - b).join()}`;
  }
}
