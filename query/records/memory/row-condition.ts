import type { Condition } from '../input/parse-conditions.ts';
import { createdAt, idSpan, type Span, sameBytes, updatedAt, valueSpan } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import type { RowTest } from './filter-rows.ts';
import { nameOf } from './row-order.ts';

/** A condition as packed rows are compared with it. */
export type RowCondition =
  | { readonly kind: 'id'; readonly text: string; readonly bytes: Uint8Array }
  | { readonly kind: 'createdAt' | 'updatedAt'; readonly time: number }
  | { readonly kind: 'value'; readonly slot: string; readonly bytes: Uint8Array };

export type ValueCondition = Extract<RowCondition, { readonly kind: 'value' }>;

const span: Span = { start: 0, end: 0 };

export function rowConditionOf({ target, value }: Condition): RowCondition {
  if (target === 'id') return { kind: target, text: value as string, bytes: Buffer.from(value as string) };
  if (typeof target === 'string') return { kind: target, time: (value as Date).getTime() };
  // equal values have equal texts
  return valueConditionOf(slotOf(target), String(value));
}

export function valueConditionOf(slot: string, text: string): RowCondition {
  return { kind: 'value', slot, bytes: Buffer.from(text) };
}

/** Values of fields, one of each, in the order of their slots. */
export function valuesIn(wanted: readonly RowCondition[]): readonly ValueCondition[] {
  const values: ValueCondition[] = [];
  for (const one of wanted) {
    if (one.kind !== 'value') continue;
    let at = values.length;
    while (at > 0 && (values[at - 1] as ValueCondition).slot > one.slot) at--;
    if (values[at - 1]?.slot !== one.slot) values.splice(at, 0, one);
  }
  return values;
}

export function testOf(wanted: RowCondition): RowTest {
  return (bytes, row) => meets(wanted, bytes, row);
}

function meets(wanted: RowCondition, bytes: Buffer, row: number): boolean {
  switch (wanted.kind) {
    case 'createdAt':
      return createdAt(bytes, row) === wanted.time;
    case 'updatedAt':
      return updatedAt(bytes, row) === wanted.time;
    case 'id':
      idSpan(bytes, row, span);
      break;
    case 'value':
      if (!valueSpan(bytes, row, nameOf(wanted.slot), span)) return false;
  }
  const { byteLength } = wanted.bytes;
  return span.end - span.start === byteLength && sameBytes(bytes, span.start, wanted.bytes, byteLength);
}
