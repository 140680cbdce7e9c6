import type { Invalidation, StreamPosition } from '#coordination/redis/invalidation.ts';

/** Processes of one test share it instead of Redis: what one publishes all know at once. */
export class LocalInvalidation implements Invalidation {
  readonly announces = true;
  /** Nothing can be published. */
  away = false;
  readonly #published: string[] = [];

  position(): StreamPosition {
    return { generation: 0, message: this.#published.length };
  }

  changedSince(id: string, position: StreamPosition | null): boolean {
    return position === null || this.#published.lastIndexOf(id) >= position.message;
  }

  isCurrent(): boolean {
    return true;
  }

  async publish(id: string): Promise<boolean> {
    if (!this.away) this.#published.push(id);
    return !this.away;
  }

  stampOf({ message }: StreamPosition): string {
    return String(message);
  }

  positionOf(stamp: string): StreamPosition {
    return { generation: 0, message: Number(stamp) };
  }

  async close(): Promise<void> {}
}
