/** Milliseconds. All processes must have the same `lease`: another one needs another `ledgerKey`. */
export interface LeaseTimes {
  /** How long a session lasts that is not renewed, by Redis' clock. */
  readonly lease: number;
  /** What is taken off by our own clock, for what the clocks may differ in that time. */
  readonly margin: number;
  /** What a write may take at most; it does not begin when less of the lease is left. */
  readonly writeTime: number;
  readonly renewEvery: number;
}

/** Two attempts to renew in a row may fail before writes are held back. */
export const usualTimes: LeaseTimes = { lease: 15_000, margin: 1500, writeTime: 6000, renewEvery: 2500 };
