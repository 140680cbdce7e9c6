import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '#engine/database.ts';

/** What ClickHouse answers about the table `cache_outages`, without one. */
export class OutageTable implements Pick<Database, 'rows' | 'command'> {
  /** Neither read nor written. */
  away = false;
  /** How many were ever inserted. */
  inserted = 0;
  #until = Number.NEGATIVE_INFINITY;

  async rows<Row>(): Promise<Row[]> {
    await this.#answer();
    return [{ outages: performance.now() < this.#until ? 1 : 0 } as Row];
  }

  async command({ sql }: { readonly sql: string }): Promise<void> {
    await this.#answer();
    this.inserted++;
    this.#until = Math.max(
      this.#until,
      performance.now() + Number(/INTERVAL (\d+) MILLISECOND/.exec(sql)?.[1]),
    );
  }

  async #answer(): Promise<void> {
    await nextTurn();
    if (this.away) throw new Error('the database is away');
  }
}
