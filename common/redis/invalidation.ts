/** A moment, by which one can tell later whether what was learnt then may have changed since. */
export interface Mark {
  readonly generation: number;
  readonly position: number;
}

/**
 * Tells all processes of a deployment that something changed, so that they may keep what they know
 * (docs/decisions/011-token-cache-and-invalidation.md). An id says what changed, and never how: a receiver looks it up again.
 *
 *   writer: the change is stored and can be seen; publish(id); only then is it acknowledged
 *   reader: mark(); looks; keeps what it saw for as long as isCurrent() and not changedSince(id, mark)
 */
export interface Invalidation {
  /** The present; made before a look begins. Null: nothing that is seen now may be kept. */
  mark(): Mark | null;
  /** Whether the id was invalidated since the mark, or could have been and was missed. */
  changedSince(id: string, mark: Mark | null): boolean;
  /** Whether everything that was published until `trustFor` ago is known here. */
  isCurrent(): boolean;
  /**
   * Publishes to all processes, this one too. Resolves with false when Redis does not answer: it is tried again for as
   * long as this process lives, and until then others may go by what they knew. Never rejects.
   */
  publish(id: string): Promise<boolean>;
  /** A mark as a text that other processes understand. */
  stampOf(mark: Mark): string;
  /** Null: it is of another time, or of another server. */
  markOf(stamp: string): Mark | null;
  close(): Promise<void>;
}
