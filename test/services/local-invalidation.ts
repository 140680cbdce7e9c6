import type { Invalidation, Mark } from '../../common/redis/invalidation.ts';

/** Processes of one test share it instead of Redis: what one publishes all know at once. */
export class LocalInvalidation implements Invalidation {
  /** Nothing can be published. */
  away = false;
  readonly #published: string[] = [];

  mark(): Mark {
    return { generation: 0, position: this.#published.length };
  }

  changedSince(id: string, mark: Mark | null): boolean {
    return mark === null || this.#published.lastIndexOf(id) >= mark.position;
  }

  isCurrent(): boolean {
    return true;
  }

  async publish(id: string): Promise<boolean> {
    if (!this.away) this.#published.push(id);
    return !this.away;
  }

  stampOf({ position }: Mark): string {
    return String(position);
  }

  markOf(stamp: string): Mark {
    return { generation: 0, position: Number(stamp) };
  }

  async close(): Promise<void> {}
}
