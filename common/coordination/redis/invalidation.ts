/** A position in the stream of invalidations: data read at this position is stale if its id is published later. */
export interface StreamPosition {
  readonly generation: number;
  /** Number of the last message before it. */
  readonly message: number;
}

/**
 * Announces changes to all processes of a deployment, so that they can cache what they read
 * (docs/decisions/011-token-cache-and-invalidation.md). An id says what changed, but not how: receivers read it again.
 *
 *   writer: stores the change; publish(id) once it is visible; acknowledges only then
 *   reader: position(); reads the store; caches the answer while isCurrent() and not changedSince(id, position)
 */
export interface Invalidation {
  /** Whether processes learn of each other's changes at all. */
  readonly announces: boolean;
  /** The current position, taken before the store is read. Null: data read now must not be cached. */
  position(): StreamPosition | null;
  /** Whether the id was published after the position, or a missed message may have announced it. */
  changedSince(id: string, position: StreamPosition | null): boolean;
  /** Whether everything that was published up to `trustFor` ago is known here. */
  isCurrent(): boolean;
  /**
   * Publishes to all processes, including this one. Resolves with false when Redis does not respond: it is retried for as
   * long as this process lives, and until then others may use stale data. Never rejects.
   */
  publish(id: string): Promise<boolean>;
  /** A position as a text that other processes understand. */
  stampOf(position: StreamPosition): string;
  /** Null: the position is outdated, or from another server. */
  positionOf(stamp: string): StreamPosition | null;
  close(): Promise<void>;
}

/** Without Redis: no other process changes the store, or its changes are not announced. */
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
