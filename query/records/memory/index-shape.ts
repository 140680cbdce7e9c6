import type { ReadPlan } from '../input/read-plan.ts';
import { slotOf } from '../structure/slots.ts';
import { boundedIn, boundsOf, comparisonsIn } from './bounds.ts';
import { idOrder, keyOfTarget, orderOf, type RowOrder, sameOrder } from './row-order.ts';

/** The requests that an index serves. */
export interface IndexShape {
  /** Slots that are compared with a value each, in order; a row without a value in one is not in the index. */
  readonly slots: readonly string[];
  readonly order: RowOrder;
}

/** An existing index. */
export interface BuiltIndex extends IndexShape {
  /** Number of the last request that it served, among those of its table. */
  readonly lastUse: number;
}

/** The shape of an index that looks up records by a value. */
export function lookupShape(slot: string): IndexShape {
  return { slots: [slot], order: idOrder };
}

export function shapeText({ slots, order }: IndexShape): string {
  let text = slots.join();
  for (let by: RowOrder | null = order; by !== null; by = by.next)
    text += ` ${by.by}${by.descending ? ' down' : ''}`;
  return text;
}

/** Indexes that would answer a plan: one, or with Or one for each condition. */
export function shapesOf({ conditions, sort }: ReadPlan): readonly IndexShape[] {
  const { plain, others, relationship } = conditions;
  const slots = plain.flatMap(({ target }) => (typeof target === 'string' ? [] : slotOf(target)));
  if (relationship === 'Or' && plain.length + others.length > 1)
    return others.length > 0 ? [] : [...new Set(slots)].map(lookupShape);
  const comparisons = comparisonsIn(others);
  const bounded = boundedIn(comparisons);
  const order = orderOf(sort);
  if (bounded !== undefined && boundsOf(comparisons, order) === null)
    return [{ slots: [...new Set(slots)].sort(), order: orderOf([{ target: bounded, descending: false }]) }];
  if (slots.length > 0 || bounded !== undefined) return [{ slots: [...new Set(slots)].sort(), order }];
  const listed = comparisons.find(({ operator }) => operator === 'in');
  if (listed !== undefined) {
    if (listed.target === 'id') return [{ slots: [], order: idOrder }];
    return typeof listed.target === 'string' ? [] : [lookupShape(keyOfTarget(listed.target))];
  }
  // the index of ids exists already, and no index serves other comparisons by themselves
  const isServed = plain.length > 0 || others.length > 0 || sameOrder(order, idOrder);
  return isServed ? [] : [{ slots: [], order }];
}
