import type { Condition } from '../input/parse-conditions.ts';
import { slotOf } from '../structure/slots.ts';
import { hasValue } from './ordered-index.ts';
import { createdAt, idSpan, type Span, sameBytes, updatedAt } from './packed-row.ts';

/** A condition as packed rows are compared with it. */
export type Wanted = { readonly meets: (bytes: Buffer, row: number) => boolean } & (
  | { readonly kind: 'id'; readonly text: string }
  | { readonly kind: 'time' }
  | { readonly kind: 'value'; readonly slot: string; readonly bytes: Uint8Array }
);

const span: Span = { start: 0, end: 0 };

export function wantedOf(condition: Condition): Wanted {
  switch (condition.operator) {
    case 'eq':
      return equalTo(condition);
  }
}

function equalTo({ target, value }: Condition): Wanted {
  if (target === 'id') {
    const wanted = Buffer.from(value as string);
    const meets = (bytes: Buffer, row: number): boolean => {
      idSpan(bytes, row, span);
      const length = span.end - span.start;
      return length === wanted.byteLength && sameBytes(bytes, span.start, wanted, length);
    };
    return { kind: 'id', text: value as string, meets };
  }
  if (typeof target === 'string') {
    const time = (value as Date).getTime();
    const read = target === 'createdAt' ? createdAt : updatedAt;
    return { kind: 'time', meets: (bytes, row) => read(bytes, row) === time };
  }
  // equal values have equal texts
  return valueWanted(slotOf(target), String(value));
}

export function valueWanted(slot: string, text: string): Wanted {
  const wanted = Buffer.from(text);
  return { kind: 'value', slot, bytes: wanted, meets: (bytes, row) => hasValue(bytes, row, slot, wanted) };
}
