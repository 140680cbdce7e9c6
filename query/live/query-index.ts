import type { Filter } from '#records/input/filters/filter.ts';
import type { Condition, Conditions } from '#records/input/parse-conditions.ts';
import type { RowChange } from '#records/store/row-change.ts';
import { textIn, textOf } from '#records/store/row-test.ts';
import type { Target } from '#records/structure/field.ts';
import { typeEntry } from '#records/types/field-types.ts';
import type { LiveQuery } from './live-query.ts';

/** Values of one condition that index a query. A query with more is tried on each change. */
const mostValues = 100;

interface Term {
  readonly target: Target;
  readonly text: string;
}

interface FieldTerms {
  readonly target: Target;
  readonly queries: Map<string, Set<LiveQuery>>;
}

/** An inverted index of live queries by the values that they compare with, so that a change is tried on few of them. */
export class QueryIndex {
  /** By field. */
  readonly #fields = new Map<string, FieldTerms>();
  /** Queries without an indexed value. */
  readonly #others = new Set<LiveQuery>();
  readonly #all = new Set<LiveQuery>();

  get size(): number {
    return this.#all.size;
  }

  all(): Iterable<LiveQuery> {
    return this.#all;
  }

  add(query: LiveQuery): void {
    this.#all.add(query);
    const terms = termsOf(query.conditions);
    if (terms === null) this.#others.add(query);
    for (const { target, text } of terms ?? []) {
      const key = keyOf(target);
      const values = this.#fields.get(key) ?? { target, queries: new Map() };
      this.#fields.set(key, values);
      const queries = values.queries.get(text) ?? new Set();
      values.queries.set(text, queries.add(query));
    }
  }

  remove(query: LiveQuery): void {
    this.#all.delete(query);
    this.#others.delete(query);
    for (const { target, text } of termsOf(query.conditions) ?? []) {
      const key = keyOf(target);
      const values = this.#fields.get(key);
      const queries = values?.queries.get(text);
      queries?.delete(query);
      if (queries?.size === 0) values?.queries.delete(text);
      if (values?.queries.size === 0) this.#fields.delete(key);
    }
  }

  /** Queries that may match the record before or after the change. */
  *of({ id, before, after }: RowChange): Generator<LiveQuery, void, undefined> {
    yield* this.#others;
    // without `before`, the member list of a query says whether its clients have the record
    if (before === undefined)
      for (const query of this.#all)
        if (!this.#others.has(query) && (query.members?.has(id) ?? true)) yield query;
    for (const { target, queries } of this.#fields.values()) {
      const was = before ? textIn(before, target) : undefined;
      const is = after === null ? undefined : textIn(after, target);
      if (was !== undefined) yield* queries.get(was) ?? [];
      if (is !== undefined && is !== was) yield* queries.get(is) ?? [];
    }
  }
}

function keyOf(target: Target): string {
  return typeof target === 'string' ? target : (target.slot ?? '');
}

/** Terms of which every matching record has at least one; null: there are no such terms. */
function termsOf({ relationship, plain, others }: Conditions): readonly Term[] | null {
  if (relationship === 'Or' && plain.length + others.length > 1) {
    const branches = [...plain.map((condition) => [termOf(condition)]), ...others.map(termsIn)];
    return branches.includes(null) ? null : branches.flatMap((terms) => terms ?? []);
  }
  // others are better than fields with few values
  const selective = plain.find(
    ({ target }) => typeof target === 'string' || !typeEntry(target.type).hasFewValues,
  );
  if (selective !== undefined) return [termOf(selective)];
  for (const filter of others) {
    const terms = termsIn(filter);
    if (terms !== null) return terms;
  }
  return plain[0] === undefined ? null : [termOf(plain[0])];
}

function termOf({ target, value }: Condition): Term {
  return { target, text: textOf(value) };
}

function termsIn(filter: Filter): readonly Term[] | null {
  if ('group' in filter) {
    if (filter.group !== 'any') return null;
    const branches = filter.branches.map(termsIn);
    return branches.includes(null) ? null : branches.flatMap((terms) => terms ?? []);
  }
  const { target, path, operator, values } = filter;
  const isEqual = operator === 'eq' || operator === 'in';
  return isEqual && path.length === 0 && values.length <= mostValues
    ? values.map((value) => termOf({ target, value }))
    : null;
}
