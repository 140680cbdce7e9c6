/** What counts of a record here, by its id. */
export type Held = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** An operation and what it was answered. */
export type Outcome =
  /** `id` is what was asked for, or what was answered. */
  | { readonly kind: 'changed'; readonly id: string; readonly changes: object; readonly when?: object }
  | { readonly kind: 'inserted'; readonly id: string; readonly record: Readonly<Record<string, unknown>> }
  | { readonly kind: 'deleted'; readonly id: string }
  | { readonly kind: 'cleared'; readonly deleted: unknown }
  /** No record has the id. */
  | { readonly kind: 'absent'; readonly id: string }
  /** No record has the values. */
  | { readonly kind: 'none'; readonly when: object }
  /** A record other than the one with the id has the value. */
  | { readonly kind: 'taken'; readonly id: string | null; readonly unique: string };

/**
 * Whether some order of operations that were asked for at once leads from one state to another, with every answer
 * right at its place in that order.
 */
export function explained(before: Held, outcomes: readonly Outcome[], after: Held): boolean {
  const wanted = stateText(after);
  const seen = new Set<string>();
  const search = (state: Held, left: readonly Outcome[]): boolean => {
    const text = stateText(state);
    if (left.length === 0) return text === wanted;
    const key = `${left.map((outcome) => outcomes.indexOf(outcome)).join()} ${text}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return left.some((outcome) => {
      const next = applied(state, outcome);
      return (
        next !== null &&
        search(
          next,
          left.filter((other) => other !== outcome),
        )
      );
    });
  };
  return search(before, outcomes);
}

function stateText(state: Held): string {
  return JSON.stringify([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The state after an operation; null when its answer is not right here. */
function applied(state: Held, outcome: Outcome): Held | null {
  switch (outcome.kind) {
    case 'changed': {
      const record = state.get(outcome.id);
      if (record === undefined || !has(record, outcome.when ?? {})) return null;
      const changed = { ...record, ...outcome.changes };
      return holder(state, changed.u, outcome.id) ? null : new Map(state).set(outcome.id, changed);
    }
    case 'inserted':
      return holder(state, outcome.record.u, null) ? null : new Map(state).set(outcome.id, outcome.record);
    case 'deleted': {
      const next = new Map(state);
      return next.delete(outcome.id) ? next : null;
    }
    case 'cleared':
      return outcome.deleted === state.size ? new Map() : null;
    case 'absent':
      return state.has(outcome.id) ? null : state;
    case 'none':
      return [...state.values()].some((record) => has(record, outcome.when)) ? null : state;
    case 'taken':
      return holder(state, outcome.unique, outcome.id) ? state : null;
  }
}

function has(record: Readonly<Record<string, unknown>>, values: object): boolean {
  return Object.entries(values).every(([key, value]) => record[key] === value);
}

/** Whether another record has the value of the unique field `u`. */
function holder(state: Held, unique: unknown, id: string | null): boolean {
  return unique !== null && [...state].some(([other, record]) => other !== id && record.u === unique);
}
