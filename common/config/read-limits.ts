/** What reads that clients ask for may take of the engine. */
export interface ReadLimits {
  /** Milliseconds that the engine may work for one, or for the next bytes of one that streams. */
  readonly timeout: number;
  /** Bytes a second below which the reader of a stream is cut, when others wait for its place. */
  readonly minRate: number;
  /** Milliseconds over which the rate is taken. */
  readonly minRatePeriod: number;
}

export const readLimitDefaults: ReadLimits = { timeout: 30_000, minRate: 16_384, minRatePeriod: 10_000 };
