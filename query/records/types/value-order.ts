/** The order of stored values in memory, by their UTF-8 bytes. */
export interface ValueOrder {
  /** A number that is never less for a greater value. */
  readonly key: (bytes: Buffer, start: number, end: number) => number;
  /** Whether different values may have one key: their bytes decide then. */
  readonly hasTies: boolean;
}

const prefixBytes = 6;

/** Texts by their bytes, which is by code points, as in the engine. The key is the first six. */
export const textOrder: ValueOrder = {
  key(bytes, start, end) {
    let key = 0;
    for (let at = start; at < start + prefixBytes; at++)
      key = key * 256 + (at < end ? (bytes[at] as number) : 0);
    return key;
  },
  hasTies: true,
};

export const numberOrder: ValueOrder = {
  key: (bytes, start, end) => Number(bytes.toString('latin1', start, end)),
  hasTies: false,
};

export const booleanOrder: ValueOrder = {
  // `true` or `false`
  key: (bytes, start) => (bytes[start] === 0x74 ? 1 : 0),
  hasTies: false,
};
