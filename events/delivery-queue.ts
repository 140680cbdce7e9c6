import type { Delivery } from './delivery.ts';
import { Heap, type Slotted } from './heap.ts';

const mebibyte = 1024 ** 2;

/** Limits of deliveries in one process; the rest waits in the store. */
export const queueLimits = {
  /** Bytes of memory, by estimate. An account gets up to an eighth of the rest, and always `least` deliveries. */
  memory: 64 * mebibyte,
  share: 8,
  least: 16,
  /** Concurrent calls, in all and of an account. The last `reserve` are for accounts without one. */
  calls: 512,
  callsOfAccount: 8,
  reserve: 64,
  /** Bytes of contents that calls may hold. An account gets up to half of the rest, and one call in any case. */
  contents: 64 * mebibyte,
  contentsOfAccount: 8 * mebibyte,
};

/** Bytes of memory that a delivery takes, and one of its records. */
const memoryOfDelivery = 700;
const memoryOfRecord = 150;

/** A delivery that this process is to send. */
export interface Queued extends Slotted {
  readonly delivery: Delivery;
  readonly lane: Lane;
  readonly memory: number;
  attempts: number;
  /** Milliseconds since 1970. */
  nextAt: number;
  /** Number of its records that an earlier delivery has as well. */
  waitsFor: number;
  /** Deliveries that wait for it. */
  readonly followers: Queued[];
}

/** Deliveries of one space to one address. Those of one record are sent in order. */
interface Lane extends Slotted {
  readonly account: Account;
  readonly key: string;
  readonly ready: Heap<Queued>;
  /** The last delivery of each record. */
  readonly last: Map<string, Queued>;
  turn: number;
}

interface Account extends Slotted {
  readonly id: string;
  readonly deliveries: Map<string, Queued>;
  readonly lanes: Map<string, Lane>;
  /** Lanes with something to send, the least recently served first. */
  readonly line: Heap<Lane>;
  memory: number;
  running: number;
  /** Bytes of contents that its calls hold. */
  contents: number;
  turn: number;
}

/**
 * A fair queue of deliveries, in memory. The account with the fewest calls is first, and of an account each space and
 * address in turn. The next one is found without a search: deliveries that wait for a time are in a heap, the others in
 * queues.
 */
export class DeliveryQueue {
  readonly #limits: typeof queueLimits;
  readonly #accounts = new Map<string, Account>();
  readonly #later = new Heap<Queued>(isEarlier);
  readonly #ready = new Heap<Account>((one, other) =>
    one.running === other.running ? one.turn < other.turn : one.running < other.running,
  );
  /** Accounts with calls whose next content does not fit beside them. */
  readonly #tooLarge = new Set<Account>();
  #memory = 0;
  #running = 0;
  #contents = 0;
  #turn = 0;

  constructor(limits: Partial<typeof queueLimits> = {}) {
    this.#limits = { ...queueLimits, ...limits };
  }

  /** Estimated number of deliveries, of one record each, that an account may still add. */
  roomOf(ownerId: string): number {
    const { memory = 0, deliveries } = this.#accounts.get(ownerId) ?? {};
    const least = this.#limits.least - (deliveries?.size ?? 0);
    return Math.max(least, Math.floor((this.#shareOf() - memory) / (memoryOfDelivery + memoryOfRecord)));
  }

  isSending(ownerId: string): boolean {
    return (this.#accounts.get(ownerId)?.running ?? 0) > 0;
  }

  /** @returns whether there was room. Deliveries of one record have to be added in the order of its writes */
  add(delivery: Delivery): boolean {
    const { ownerId, id, url, recordIds, nextAt } = delivery;
    const account = this.#accounts.get(ownerId) ?? newAccount(ownerId);
    if (account.deliveries.has(id)) return true;
    const memory = memoryOfDelivery + url.length + memoryOfRecord * recordIds.length;
    const { least } = this.#limits;
    if (account.deliveries.size >= least && account.memory + memory > this.#shareOf()) return false;
    this.#accounts.set(ownerId, account);
    const lane = laneOf(account, delivery);
    const progress = { attempts: delivery.attempts, nextAt: nextAt.getTime() };
    const queued: Queued = { delivery, lane, memory, ...progress, waitsFor: 0, followers: [], slot: -1 };
    for (const record of new Set(recordIds)) {
      const before = lane.last.get(record);
      if (before !== undefined) {
        before.followers.push(queued);
        queued.waitsFor++;
      }
      lane.last.set(record, queued);
    }
    account.deliveries.set(id, queued);
    account.memory += memory;
    this.#memory += memory;
    if (queued.waitsFor === 0) this.#later.add(queued);
    return true;
  }

  /** Time of the next delivery that waits for one, in milliseconds since 1970; null: none does. */
  get nextAt(): number | null {
    return this.#later.first?.nextAt ?? null;
  }

  /** The delivery to send next; null: none may be sent now. */
  take(now: number): Queued | null {
    for (let due = this.#later.first; due !== undefined && due.nextAt <= now; due = this.#later.first) {
      this.#later.remove(due);
      this.#line(due);
    }
    const { calls, reserve } = this.#limits;
    for (;;) {
      const account = this.#ready.first;
      if (account === undefined || this.#running >= calls - (account.running === 0 ? 0 : reserve))
        return null;
      const queued = account.line.first?.ready.first as Queued;
      if (this.#mayHold(account, this.#contentOf(queued))) return this.#begin(account, queued);
      // an account without a call gets the next bytes that are released
      if (account.running === 0) return null;
      this.#tooLarge.add(account);
      this.#place(account);
    }
  }

  /** @param retryAt time of the next attempt, in milliseconds since 1970; null: the delivery is over */
  end(queued: Queued, retryAt: number | null): void {
    const { account } = queued.lane;
    const content = this.#contentOf(queued);
    this.#running--;
    this.#contents -= content;
    // its place in the heap depends on `running`
    this.#ready.remove(account);
    account.running--;
    account.contents -= content;
    if (retryAt === null) this.#remove(queued);
    else {
      queued.nextAt = retryAt;
      this.#later.add(queued);
    }
    const waiting = [...this.#tooLarge];
    this.#tooLarge.clear();
    for (const other of waiting) this.#place(other);
    this.#place(account);
  }

  #shareOf(): number {
    const { memory, share } = this.#limits;
    return (memory - this.#memory) / share;
  }

  /** A large content counts as a quarter of the limit: a single record may be larger than the limit. */
  #contentOf({ delivery }: Queued): number {
    return Math.min(delivery.bytes, this.#limits.contents / 4);
  }

  #mayHold(account: Account, content: number): boolean {
    const { contents, contentsOfAccount } = this.#limits;
    const left = contents - this.#contents;
    if (account.running === 0) return content <= left;
    return account.contents + content <= contentsOfAccount && content <= left / 2;
  }

  #begin(account: Account, queued: Queued): Queued {
    const { lane } = queued;
    const content = this.#contentOf(queued);
    lane.ready.remove(queued);
    account.line.remove(lane);
    lane.turn = ++this.#turn;
    if (lane.ready.first !== undefined) account.line.add(lane);
    this.#ready.remove(account);
    account.running++;
    account.contents += content;
    account.turn = ++this.#turn;
    this.#running++;
    this.#contents += content;
    this.#place(account);
    return queued;
  }

  /** Puts a delivery into the queue of its address, ready to be sent. */
  #line(queued: Queued): void {
    const { lane } = queued;
    const { account } = lane;
    lane.ready.add(queued);
    if (lane.slot === -1) account.line.add(lane);
    if (account.slot === -1) this.#place(account);
  }

  /** Puts an account in the queue of accounts that may begin a call, or takes it out. */
  #place(account: Account): void {
    this.#ready.remove(account);
    const { line, running } = account;
    const mayBegin = running < this.#limits.callsOfAccount && !this.#tooLarge.has(account);
    if (mayBegin && line.first !== undefined) this.#ready.add(account);
  }

  #remove({ delivery, lane, memory, followers }: Queued): void {
    const { account } = lane;
    const { id, recordIds } = delivery;
    for (const record of recordIds)
      if (lane.last.get(record)?.delivery === delivery) lane.last.delete(record);
    for (const follower of followers) if (--follower.waitsFor === 0) this.#later.add(follower);
    account.deliveries.delete(id);
    account.memory -= memory;
    this.#memory -= memory;
    if (lane.last.size === 0) account.lanes.delete(lane.key);
    if (account.deliveries.size === 0) this.#accounts.delete(account.id);
  }
}

function isEarlier(one: Queued, other: Queued): boolean {
  return one.nextAt === other.nextAt ? one.delivery.id < other.delivery.id : one.nextAt < other.nextAt;
}

function newAccount(id: string): Account {
  const line = new Heap<Lane>((one, other) => one.turn < other.turn);
  const counts = { memory: 0, running: 0, contents: 0, turn: 0 };
  return { id, deliveries: new Map(), lanes: new Map(), line, ...counts, slot: -1 };
}

function laneOf(account: Account, { spaceId, url }: Delivery): Lane {
  const key = `${spaceId} ${url}`;
  const known = account.lanes.get(key);
  if (known !== undefined) return known;
  const lane = { account, key, ready: new Heap<Queued>(isEarlier), last: new Map(), turn: 0, slot: -1 };
  account.lanes.set(key, lane);
  return lane;
}
