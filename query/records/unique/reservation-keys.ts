import { createHash } from 'node:crypto';
import type { Field } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { StoredValue } from '../types/field-type.ts';

/** Longer values are hashed, so that reservations stay small. */
const longestKey = 100;

/*
 * Keys of reservations. Two kinds never share a key: the space's id is followed by the slug of a field, which is never
 * empty and has no colon, or nothing.
 */

export function valueKey(space: RecordSpace, field: Field, value: StoredValue): string {
  const text = String(value);
  // the letter distinguishes a text from the hash of another
  const end =
    text.length <= longestKey ? `v${text}` : `h${createHash('sha256').update(text).digest('base64')}`;
  return `${space.id}:${field.slug}:${end}`;
}

/** The key for the first record of a space. */
export function firstRecordKey(space: RecordSpace): string {
  return `${space.id}::first`;
}

export function recordKey(space: RecordSpace, id: string): string {
  return `${space.id}::record:${id}`;
}
