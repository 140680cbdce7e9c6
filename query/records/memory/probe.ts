import type { PageCursor } from '../input/parse-after.ts';
import type { Sorts } from '../input/parse-sorts.ts';
import { RowWriter } from '../sql/packed-row.ts';
import type { Target } from '../structure/field.ts';
import { compareTie, keyOfTarget, orderKey, type RowOrder } from './row-order.ts';
import { RowSlabs } from './row-slabs.ts';

export interface Probe {
  readonly key: number;
  readonly bytes: Buffer;
  readonly row: number;
}

const writer = new RowWriter();
const epoch = new Date(0).toISOString();

/** A row with these values; null: it has no place in the order. Valid until the next call. */
export function probeOf(
  order: RowOrder,
  { id, targets, values }: PageCursor & { readonly targets: readonly Target[] },
): Probe | null {
  const _doc: Record<string, string> = {};
  const times = { createdAt: epoch, updatedAt: epoch };
  for (const [index, target] of targets.entries()) {
    const value = values[index] ?? null;
    if (value === null || target === 'id') continue;
    if (typeof target === 'string') times[target] = (value as Date).toISOString();
    else _doc[keyOfTarget(target)] = String(value);
  }
  const row = { _id: id, _created_at: times.createdAt, _updated_at: times.updatedAt, _doc };
  const bytes = writer.write(row, RowSlabs.largest);
  const key = bytes === null ? Number.NaN : orderKey(order, bytes, 0);
  return bytes === null || Number.isNaN(key) ? null : { key, bytes, row: 0 };
}

/** The record behind which a page begins. */
export function probeAfter(
  { sort, order }: { readonly sort: Sorts | null; readonly order: RowOrder },
  { id, values }: PageCursor,
): Probe | null {
  return probeOf(order, { id, targets: (sort ?? []).map(({ target }) => target), values });
}

export function compareProbes(order: RowOrder, a: Probe, b: Probe): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return compareTie(order, a.bytes, a.row, b.bytes, b.row);
}
