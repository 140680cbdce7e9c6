import type { Log } from '#kernel/log/log.ts';
import type { Backlog } from './backlog.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import type { DeliveryTable } from './delivery-table.ts';

/** Most deliveries of one read, and the fewest that are worth one while calls of the account are running. */
const mostFetched = 500;
const leastFetched = 8;
/** Accounts that are read concurrently. */
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

/** Refills the queue from the store, for accounts with a stored backlog, when memory has room. */
export class CatchUp {
  readonly #deps: CatchUpDeps;
  readonly #requested = new Set<string>();
  /** Accounts whose deliveries are being read, each with the deliveries that ended meanwhile. */
  readonly #ended = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** Memory has no room for a delivery: it and all later ones of its account are fetched later. */
  fallBehind({ ownerId, id }: Delivery): void {
    this.#deps.backlog.fallBehind(ownerId, before(id));
  }

  ended({ ownerId, id }: Delivery): void {
    this.#ended.get(ownerId)?.add(id);
  }

  /** Fetches the stored backlog of an account, if it has one, once there is room. */
  request(ownerId: string): void {
    if (!this.#deps.backlog.behind.has(ownerId)) return;
    this.#requested.add(ownerId);
    this.#next();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #next(): void {
    const { queue, backlog, stopped, log, onFetched } = this.#deps;
    for (const ownerId of this.#requested) {
      if (this.#running.size >= atOnce || stopped.aborted) return;
      if (this.#ended.has(ownerId)) continue;
      this.#requested.delete(ownerId);
      const limit = Math.min(mostFetched, queue.roomOf(ownerId));
      const after = backlog.behind.get(ownerId)?.after;
      if (after === undefined || limit < (queue.isSending(ownerId) ? leastFetched : 1)) continue;
      const running = this.#fetch(ownerId, after, limit)
        .catch((error: unknown) => {
          backlog.fallBehind(ownerId, after);
          log.warn({ err: error }, 'pending webhooks could not be read');
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
    // deliveries that come meanwhile see the stored backlog: they set `more`, and keep their order
    backlog.behind.set(ownerId, { after: lastId, more: false });
    const found = await table.pendingOf(process, ownerId, after, limit);
    const refused = found.find((delivery) => !ended.has(delivery.id) && !queue.add(delivery, true));
    const isAll = refused === undefined && found.length < limit;
    if (isAll && backlog.behind.get(ownerId)?.more !== true) backlog.behind.delete(ownerId);
    else {
      backlog.fallBehind(ownerId, refused === undefined ? (found.at(-1)?.id ?? after) : before(refused.id));
      // otherwise memory is full, and the end of a call requests again
      if (refused === undefined) this.#requested.add(ownerId);
    }
  }
}

/** A text that sorts just before this id: ids have no spaces. */
function before(id: string): string {
  return `${id.slice(0, -1)} `;
}
