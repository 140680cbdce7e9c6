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

/** What one sender may ask for. 0: no limit. */
export interface RequestLimits {
  /** Requests a second. */
  readonly rate: number;
  /** Requests that a sender who was silent may send at once. At least 1. */
  readonly burst: number;
  /** Requests that are not over. */
  readonly inFlight: number;
}

/** What an account may store. 0: no limit. */
export interface StorageQuota {
  readonly files: number;
  readonly bytes: number;
}
