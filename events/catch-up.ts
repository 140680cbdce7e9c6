import type { Log } from '#kernel/log/log.ts';
import type { Backlog } from './backlog.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import type { DeliveryTable } from './delivery-table.ts';

/** Most deliveries of one read, and the fewest that are worth one while calls of the account are under way. */
const mostFetched = 500;
const leastFetched = 8;
/** Accounts that are read at once. */
const atOnce = 4;
/** Comes after every id. */
const lastId = '~';

export interface CatchUpDeps {
  readonly process: string;
  readonly table: DeliveryTable;
  readonly queue: DeliveryQueue;
  readonly backlog: Backlog;
  readonly stopped: AbortSignal;
  readonly onFetched: () => void;
  readonly log: Pick<Log, 'warn'>;
}

/** Refills the queue from the store for accounts that are behind, as memory has room. */
export class CatchUp {
  readonly #deps: CatchUpDeps;
  readonly #wanted = new Set<string>();
  /** Accounts that are being read from the store, each with the deliveries that ended meanwhile. */
  readonly #ended = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** Memory has no room for a delivery: it is fetched later, with all later ones of its account. */
  fallBehind({ ownerId, id }: Delivery): void {
    this.#deps.backlog.fallBehind(ownerId, before(id));
  }

  ended({ ownerId, id }: Delivery): void {
    this.#ended.get(ownerId)?.add(id);
  }

  /** Fetches deliveries of an account from the store, if it is behind, once there is room for them. */
  ask(ownerId: string): void {
    if (!this.#deps.backlog.behind.has(ownerId)) return;
    this.#wanted.add(ownerId);
    this.#next();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #next(): void {
    const { queue, backlog, stopped, log, onFetched } = this.#deps;
    for (const ownerId of this.#wanted) {
      if (this.#running.size >= atOnce || stopped.aborted) return;
      if (this.#ended.has(ownerId)) continue;
      this.#wanted.delete(ownerId);
      const limit = Math.min(mostFetched, queue.roomOf(ownerId));
      const after = backlog.behind.get(ownerId)?.after;
      if (after === undefined || limit < (queue.isSending(ownerId) ? leastFetched : 1)) continue;
      const running = this.#fetch(ownerId, after, limit)
        .catch((error: unknown) => {
          backlog.fallBehind(ownerId, after);
          log.warn({ err: error }, 'webhooks that wait could not be looked for');
        })
        .then(() => {
          this.#running.delete(running);
          this.#ended.delete(ownerId);
          this.#next();
          onFetched();
        });
      this.#running.add(running);
    }
  }

  async #fetch(ownerId: string, after: string, limit: number): Promise<void> {
    const { process, table, queue, backlog } = this.#deps;
    const ended = new Set<string>();
    this.#ended.set(ownerId, ended);
    // deliveries that come meanwhile find the account behind: they set `more`, and follow earlier ones
    backlog.behind.set(ownerId, { after: lastId, more: false });
    const found = await table.pendingOf(process, ownerId, after, limit);
    const refused = found.find((delivery) => !ended.has(delivery.id) && !queue.add(delivery, true));
    const isAll = refused === undefined && found.length < limit;
    if (isAll && backlog.behind.get(ownerId)?.more !== true) backlog.behind.delete(ownerId);
    else {
      backlog.fallBehind(ownerId, refused === undefined ? (found.at(-1)?.id ?? after) : before(refused.id));
      // otherwise memory is full, and the end of a call asks again
      if (refused === undefined) this.#wanted.add(ownerId);
    }
  }
}

/** A text just before this id: ids are of lower case. */
function before(id: string): string {
  return `${id.slice(0, -1)} `;
}
