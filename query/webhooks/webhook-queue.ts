import type { Delivery } from './webhook-deliveries.ts';

/** A delivery that this process is to send. */
export interface Queued {
  delivery: Delivery;
  readonly recordIds: readonly string[];
  running: boolean;
}

/** What one process keeps in memory; the rest waits in the store. */
const mostDeliveries = 10_000;
const mostCharacters = 64 * 1024 ** 2;
/** Deliveries that are sent at once, of all and of an account: a slow address takes no place of another account. */
const mostRunning = 512;
const mostOfAccount = 8;

/**
 * Deliveries in memory, by space and address. What concerns a record is sent in order: a delivery waits for those before
 * it that have one of its records.
 */
export class WebhookQueue {
  readonly #lanes = new Map<string, Queued[]>();
  readonly #ids = new Set<string>();
  readonly #runningOf = new Map<string, number>();
  #running = 0;
  #characters = 0;

  get size(): number {
    return this.#ids.size;
  }

  get hasRoom(): boolean {
    return this.#ids.size < mostDeliveries && this.#characters < mostCharacters;
  }

  add(delivery: Delivery): void {
    if (this.#ids.has(delivery.id)) return;
    const { recordIds } = JSON.parse(delivery.body) as { readonly recordIds: readonly string[] };
    const lane = this.#lanes.get(laneOf(delivery)) ?? [];
    this.#lanes.set(laneOf(delivery), lane);
    lane.push({ delivery, recordIds, running: false });
    // ids grow with the time of the write
    const last = lane.at(-2);
    if (last !== undefined && last.delivery.id > delivery.id) {
      lane.sort((a, b) => (a.delivery.id < b.delivery.id ? -1 : 1));
    }
    this.#ids.add(delivery.id);
    this.#characters += delivery.body.length;
  }

  /** Marks what may be sent now as running, and says when the next one may be; null: nothing waits for a time. */
  take(now: number): { readonly ready: readonly Queued[]; readonly nextAt: number | null } {
    const ready: Queued[] = [];
    let nextAt: number | null = null;
    for (const lane of this.#lanes.values()) {
      const waitedFor = new Set<string>();
      for (const queued of lane) {
        const { delivery, recordIds, running } = queued;
        const first = !recordIds.some((id) => waitedFor.has(id));
        for (const id of recordIds) waitedFor.add(id);
        if (running || !first) continue;
        const at = delivery.nextAt.getTime();
        if (at > now) nextAt = Math.min(nextAt ?? at, at);
        else if (this.#begin(queued)) ready.push(queued);
      }
    }
    return { ready, nextAt };
  }

  #begin(queued: Queued): boolean {
    const { ownerId } = queued.delivery;
    const own = this.#runningOf.get(ownerId) ?? 0;
    if (this.#running >= mostRunning || own >= mostOfAccount) return false;
    queued.running = true;
    this.#running++;
    this.#runningOf.set(ownerId, own + 1);
    return true;
  }

  /** @param delivery as it is after the attempt; what is not pending leaves the queue */
  end(queued: Queued, delivery: Delivery): void {
    const { ownerId, id, body } = delivery;
    queued.running = false;
    queued.delivery = delivery;
    this.#running--;
    const own = (this.#runningOf.get(ownerId) ?? 1) - 1;
    if (own > 0) this.#runningOf.set(ownerId, own);
    else this.#runningOf.delete(ownerId);
    // a lane keeps its place in the line, unless it was served: then it goes to the end
    const key = laneOf(delivery);
    const lane = this.#lanes.get(key) ?? [];
    this.#lanes.delete(key);
    const rest = delivery.state === 'pending' ? lane : lane.filter((other) => other !== queued);
    if (rest.length > 0) this.#lanes.set(key, rest);
    if (delivery.state === 'pending') return;
    this.#ids.delete(id);
    this.#characters -= body.length;
  }
}

function laneOf({ spaceId, url }: Delivery): string {
  return `${spaceId} ${url}`;
}
