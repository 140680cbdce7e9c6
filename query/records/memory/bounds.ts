import type { Comparison, Filter } from '../input/filters/filter.ts';
import type { OperatorName } from '../input/filters/operators.ts';
import { keyOfTarget, type RowOrder } from './row-order.ts';

/** The range of an ordered list whose rows can meet the comparisons. */
export interface Bounds {
  /** The range begins with the first row that meets this; absent: with the first row. */
  readonly from: Comparison | undefined;
  /** The range ends before the first row that does not meet all of these. */
  readonly upTo: readonly Comparison[];
}

/** The first that is there decides where rows begin. */
const lower: readonly OperatorName[] = ['startsWith', 'gte', 'gt'];
const upper: readonly OperatorName[] = ['lte', 'lt'];

/** Comparisons of whole values that every row has to meet. */
export function comparisonsIn(filters: readonly Filter[]): readonly Comparison[] {
  return filters.flatMap((filter) => {
    if ('group' in filter) return filter.group === 'all' ? comparisonsIn(filter.branches) : [];
    return filter.path.length === 0 ? filter : [];
  });
}

/** The part of an order that comparisons of its first value leave; null: all of it. */
export function boundsOf(comparisons: readonly Comparison[], { by, descending }: RowOrder): Bounds | null {
  const own = comparisons.filter(({ target }) => keyOfTarget(target) === by);
  const first = descending ? upper : lower;
  // texts with a common prefix are adjacent, but in descending order no value marks where they begin
  const last = descending ? lower.slice(1) : upper;
  const from = first
    .map((name) => own.find(({ operator }) => operator === name))
    .find((one) => one !== undefined);
  const upTo = own.filter(({ operator }) => last.includes(operator));
  if (from?.operator === 'startsWith') upTo.push(from);
  const any = from ?? upTo[0];
  if (any === undefined) return null;
  // rows without a value come last
  return { from, upTo: [...upTo, { ...any, operator: 'exists', values: [true] }] };
}

/** The first target that comparisons bound. */
export function boundedIn(comparisons: readonly Comparison[]): Comparison['target'] | undefined {
  return comparisons.find(({ operator }) => lower.includes(operator) || upper.includes(operator))?.target;
}
