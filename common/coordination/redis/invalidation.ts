/** A place in the stream of invalidations: data that was read there may have changed if its id was published later. */
export interface StreamPosition {
  readonly generation: number;
  /** Number of the last message before it. */
  readonly message: number;
}

/**
 * Announces changes to all processes of a deployment, so that they may keep the data that they read
 * (docs/decisions/011-token-cache-and-invalidation.md). An id says what changed, and never how: a receiver looks it up again.
 *
 *   writer: the change is stored and can be seen; publish(id); only then is it acknowledged
 *   reader: position(); reads the store; keeps the answer for as long as isCurrent() and not changedSince(id, position)
 */
export interface Invalidation {
  /** Whether processes hear of each other's changes at all. */
  readonly announces: boolean;
  /** The current place, taken before the store is read. Null: no data that is read now may be kept. */
  position(): StreamPosition | null;
  /** Whether the id was published behind the position, or could have been and was missed. */
  changedSince(id: string, position: StreamPosition | null): boolean;
  /** Whether everything that was published until `trustFor` ago is known here. */
  isCurrent(): boolean;
  /**
   * Publishes to all processes, this one too. Resolves with false when Redis does not answer: it is tried again for as
   * long as this process lives, and until then others may use their older data. Never rejects.
   */
  publish(id: string): Promise<boolean>;
  /** A position as a text that other processes understand. */
  stampOf(position: StreamPosition): string;
  /** Null: it is out of date, or of another server. */
  positionOf(stamp: string): StreamPosition | null;
  close(): Promise<void>;
}

/** Without Redis: no other process changes the store, or none announces it. */
export const unannounced: Invalidation = {
  announces: false,
  position: () => null,
  changedSince: () => true,
  isCurrent: () => false,
  publish: async () => true,
  stampOf: () => '',
  positionOf: () => null,
  async close() {},
};
