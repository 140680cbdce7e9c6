/** The order of stored values in memory, by their UTF-8 bytes. */
export interface ValueOrder {
  /** A number that is never less for a greater value. */
  readonly key: (bytes: Buffer, start: number, end: number) => number;
  /** Compares values of one key; null: such values are equal. */
  readonly ties: CompareSpans | null;
}

/** Compares the bytes of two values. */
type CompareSpans = (
  a: Buffer,
  startA: number,
  endA: number,
  b: Buffer,
  startB: number,
  endB: number,
) => number;

const byBytes: CompareSpans = (a, startA, endA, b, startB, endB) => a.compare(b, startB, endB, startA, endA);

const prefixBytes = 6;

/** Texts by their bytes, which is by code points, as in the engine. The key is the first six. */
export const textOrder: ValueOrder = {
  key(bytes, start, end) {
    let key = 0;
    for (let at = start; at < start + prefixBytes; at++)
      key = key * 256 + (at < end ? (bytes[at] as number) : 0);
    return key;
  },
  ties: byBytes,
};

const numberKey: ValueOrder['key'] = (bytes, start, end) => Number(bytes.toString('latin1', start, end));

export const numberOrder: ValueOrder = {
  key: numberKey,
  ties: null,
};

export const booleanOrder: ValueOrder = {
  // `true` or `false`
  key: (bytes, start) => (bytes[start] === 0x74 ? 1 : 0),
  ties: null,
};

function digitsOf(bytes: Buffer, start: number, end: number): bigint {
  return BigInt(bytes.toString('latin1', start, end).replace('.', ''));
}

/** Numbers with more digits than a double has, all with the same number of digits behind the point. */
export const exactOrder: ValueOrder = {
  key: numberKey,
  ties(a, startA, endA, b, startB, endB) {
    const [one, other] = [digitsOf(a, startA, endA), digitsOf(b, startB, endB)];
    return one < other ? -1 : Number(one > other);
  },
};

const digit = (bytes: Buffer, at: number): number => (bytes[at] as number) - 0x30;
const two = (bytes: Buffer, at: number): number => 10 * digit(bytes, at) + digit(bytes, at + 1);

/** Days such as `2026-01-31`, which in this order need not be counted. */
export const dayOrder: ValueOrder = {
  key: (bytes, start) =>
    (two(bytes, start) * 100 + two(bytes, start + 2)) * 10_000 +
    100 * two(bytes, start + 5) +
    two(bytes, start + 8),
  ties: null,
};

/** Times such as `2026-01-31T12:00:05.123Z`, with three or six digits of a second. The key has milliseconds. */
export const timeOrder: ValueOrder = {
  key(bytes, start, end) {
    const seconds = 3600 * two(bytes, start + 11) + 60 * two(bytes, start + 14) + two(bytes, start + 17);
    const thousandths = 100 * digit(bytes, start + 20) + two(bytes, start + 21);
    return (dayOrder.key(bytes, start, end) * 86_400 + seconds) * 1000 + thousandths;
  },
  // without the Z: fewer digits are less
  ties: (a, startA, endA, b, startB, endB) => byBytes(a, startA, endA - 1, b, startB, endB - 1),
};
