import { hash } from 'node:crypto';
import type { StoredValue } from '../types/field-type.ts';

/**
 * The key of a value, as a decimal number: 64 bits of a hash. Different values may have the same key, so a reader that finds
 * a record by it compares the value as well.
 */
export function keyOf(slot: string, value: StoredValue): string {
  return keyText(hashOf(slot, value));
}

/** The right side of IN for many keys. The engine would analyse each of them as a literal. */
export function keysSql(keys: readonly string[]): string {
  return keys.length === 1 ? `(${keys[0]})` : `CAST('[${keys.join()}]', 'Array(UInt64)')`;
}

export function keyText(hash: string): string {
  words[0] = wordOf(hash, 0);
  words[1] = wordOf(hash, 4);
  return (key[0] as bigint).toString();
}

/** Two words that identify a key of a space. @param hash begins with the key, low byte first */
export function keyWords(spaceId: string, hash: string): [low: number, high: number] {
  const space = spaceWords(spaceId);
  return [wordOf(hash, 0) ^ space.low, wordOf(hash, 4) ^ space.high];
}

/** The same of many keys by SQL: 8 bytes a row of RowBinary. @param keys SELECT of `space` and `key` */
export function keyWordsSql(keys: string): string {
  const space = 'UUIDStringToNum(toString(space))';
  const word = (at: number): string => `reinterpretAsUInt32(substring(${space}, ${at}, 4))`;
  const low = `bitXor(toUInt32(bitAnd(key, 0xffffffff)), ${word(9)})`;
  const high = `bitXor(toUInt32(bitShiftRight(key, 32)), ${word(13)})`;
  return `SELECT ${low}, ${high} FROM (${keys})`;
}

/** A hash of a slot's value as a binary string, which is made four times as fast as a buffer. */
export function hashOf(slot: string, value: StoredValue): string {
  return hash('md5', `${slot}:${value}`, 'binary');
}

const words = new Uint32Array(2);
const key = new BigUint64Array(words.buffer);

/** Four bytes of a binary string, low byte first. */
export function wordOf(bytes: string, at: number): number {
  const low = bytes.charCodeAt(at) | (bytes.charCodeAt(at + 1) << 8);
  return (low | (bytes.charCodeAt(at + 2) << 16) | (bytes.charCodeAt(at + 3) << 24)) >>> 0;
}

/** Words of the last space, because a request has many values of one space. */
let lastSpace = { id: '', low: 0, high: 0 };

function spaceWords(id: string): { readonly low: number; readonly high: number } {
  if (lastSpace.id !== id) {
    const bytes = Buffer.from(id.slice(19).replace('-', ''), 'hex');
    lastSpace = { id, low: bytes.readUInt32LE(0), high: bytes.readUInt32LE(4) };
  }
  return lastSpace;
}
