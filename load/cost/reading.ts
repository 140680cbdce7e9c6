/** What a target has used when it was read. */
export interface Reading {
  /** CPU seconds since it began, with all of its processes. */
  readonly cpu: number;
  /** Resident bytes. */
  readonly memory: number;
}

/** Rejects with a sentence when the target can't be read. */
export type ReadCost = (signal: AbortSignal) => Promise<Reading>;
