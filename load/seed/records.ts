import type { MixField, MixSpace } from '../mix/mix.ts';
import { hashOf, hashOfText } from './hash.ts';

export type FieldValue = string | number | boolean;

/** Characters of a text without a length. */
const usualLength = 16;
/** Letters that texts are cut from; a prime. */
const lettersLength = 65_521;
/** Values of a DATETIME are this many milliseconds apart. */
const timeStep = 1000;
const firstTime = Date.UTC(2020, 0, 1);

interface Salts {
  readonly seed: number;
  /** One a field. */
  readonly salts: readonly number[];
}

const known = new WeakMap<MixSpace, Salts>();
const letters = Array.from(
  { length: lettersLength },
  (_, at) => 'abcdefghijklmnopqrstuvwxyz      '[hashOf(at) % 32],
).join('');

/**
 * The record of a space with this number, as it is sent and as it is read back. Fields with as many values as records have
 * another one in each.
 */
export function recordOf(seed: number, space: MixSpace, index: number): Record<string, FieldValue> {
  const { salts } = saltsOf(seed, space);
  const record: Record<string, FieldValue> = {};
  const { fields } = space;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] as MixField;
    record[field.name] = fieldValue(field, salts[at] as number, index);
  }
  return record;
}

function fieldValue({ type, values, length }: MixField, salt: number, index: number): FieldValue {
  if (type === 'BOOLEAN') return (hashOf(salt, index) & 1) === 1;
  const value = values === null ? index : hashOf(salt, index) % values;
  if (type === 'NUMBER') return value;
  if (type === 'DATETIME') return new Date(firstTime + value * timeStep).toISOString();
  return textOf(salt, value, length ?? usualLength);
}

/** A text that begins with its value, so that different values never give the same one. */
function textOf(salt: number, value: number, length: number): string {
  let text = `${value.toString(36)}-`;
  for (let turn = 0; text.length < length; turn++) {
    const from = hashOf(salt, value, turn) % lettersLength;
    text += letters.slice(from, from + length - text.length);
  }
  return text.endsWith(' ') ? `${text.slice(0, -1)}.` : text;
}

function saltsOf(seed: number, space: MixSpace): Salts {
  let salts = known.get(space);
  if (salts?.seed !== seed) {
    salts = { seed, salts: space.fields.map((field) => hashOfText(seed, `${space.name}/${field.name}`)) };
    known.set(space, salts);
  }
  return salts;
}
