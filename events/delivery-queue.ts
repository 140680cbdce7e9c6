import type { Delivery } from './delivery.ts';
import {
  type Account,
  isEarlier,
  laneOf,
  learnHealth,
  newAccount,
  type QueuedDelivery,
  type Target,
  type TargetHealth,
} from './delivery-lanes.ts';
import { Heap } from './heap.ts';
import { isSplitOff, wholeOf } from './split-delivery.ts';

const mebibyte = 1024 ** 2;

/** Limits of deliveries in one process; the rest stays in the store. */
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
  /** Failed calls in a row after which an address counts as down. */
  failures: 8,
  /** Milliseconds between calls of an address that was down, or wants fewer calls. Each success shortens the gap. */
  gap: 1000,
};
/** Bytes of memory that a delivery takes, and one of its records. */
const memoryOfDelivery = 700;
const memoryOfRecord = 150;

/**
 * A fair queue of deliveries, in memory. The account with the fewest calls is next; its addresses, and their spaces, take
 * turns. The next delivery is found without a search: deliveries and addresses that wait for a time are in heaps, the
 * others in queues. An address that was down gets its calls one at a time, and faster with each success.
 */
export class DeliveryQueue {
  readonly #limits: typeof queueLimits;
  readonly #accounts = new Map<string, Account>();
  readonly #later = new Heap<QueuedDelivery>(isEarlier);
  readonly #ready = new Heap<Account>((one, other) =>
    one.running === other.running ? one.turn < other.turn : one.running < other.running,
  );
  /** Accounts with running calls whose next content does not fit yet. */
  readonly #tooLarge = new Set<Account>();
  /** Addresses with deliveries that want no call now. */
  readonly #paused = new Heap<Target>((one, other) => one.until < other.until);
  #now = 0;
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

  /**
   * Deliveries of a record must be added in the order of its writes.
   * @param slowly whether a new address starts like one that was down
   * @returns whether there was room
   */
  add(delivery: Delivery, slowly = false): boolean {
    const { ownerId, id, url, recordIds } = delivery;
    const account = this.#accounts.get(ownerId) ?? newAccount(ownerId);
    // also while a delivery is being split: the end of the split adds its parts
    if (account.deliveries.has(id) || account.deliveries.has(wholeOf(id))) return true;
    const memory = memoryOfDelivery + url.length + memoryOfRecord * recordIds.length;
    const { least } = this.#limits;
    if (account.deliveries.size >= least && account.memory + memory > this.#shareOf()) return false;
    this.#accounts.set(ownerId, account);
    const lane = laneOf(account, delivery, slowly ? this.#limits.gap : 0);
    const queued = this.#hold(account, { delivery, lane, memory });
    for (const record of new Set(recordIds)) {
      const before = lane.last.get(record);
      if (before !== undefined) {
        before.followers.set(record, queued);
        queued.waitsFor++;
      }
      lane.last.set(record, queued);
    }
    if (queued.waitsFor === 0) this.#later.add(queued);
    return true;
  }

  /**
   * Whether the records of a failed delivery may be sent one by one. If everything fails at an address, only one delivery is
   * split, to find out whether its records are the reason.
   */
  maySplit({ delivery, lane: { target } }: QueuedDelivery): boolean {
    const { ownerId, recordIds } = delivery;
    const fails = target.failures >= this.#limits.failures && target.split > 0;
    return recordIds.length > 1 && !fails && this.roomOf(ownerId) >= recordIds.length;
  }

  /** Ends a delivery after its call, and puts single deliveries of its records in its place, in order. */
  split(queued: QueuedDelivery, singles: readonly Delivery[], health: TargetHealth): void {
    const { lane, memory, followers } = queued;
    const { account } = lane.target;
    const ends = new Map<string, QueuedDelivery>();
    for (const delivery of singles) {
      const record = delivery.recordIds[0] as string;
      const single = this.#hold(account, {
        delivery,
        lane,
        memory: Math.ceil(memory / singles.length) + memoryOfDelivery,
      });
      const before = ends.get(record);
      before?.followers.set(record, single);
      if (before === undefined) this.#later.add(single);
      else single.waitsFor++;
      ends.set(record, single);
    }
    for (const [record, end] of ends) {
      const follower = followers.get(record);
      if (follower === undefined) lane.last.set(record, end);
      else end.followers.set(record, follower);
    }
    followers.clear();
    this.end(queued, null, health);
  }

  /** When the next waiting delivery or address is due, in milliseconds since 1970; null: none waits. */
  get nextAt(): number | null {
    const [delivery, target] = [this.#later.first?.nextAt, this.#paused.first?.until];
    return delivery === undefined || (target !== undefined && target < delivery)
      ? (target ?? null)
      : delivery;
  }

  /** The delivery to send next; null: none may be sent now. */
  take(now: number): QueuedDelivery | null {
    for (let due = this.#later.first; due !== undefined && due.nextAt <= now; due = this.#later.first) {
      this.#later.remove(due);
      this.#line(due);
    }
    this.#now = now;
    for (let due = this.#paused.first; due !== undefined && due.until <= now; due = this.#paused.first) {
      this.#placeTarget(due);
    }
    const { calls, reserve } = this.#limits;
    for (;;) {
      const account = this.#ready.first;
      if (account === undefined || this.#running >= calls - (account.running === 0 ? 0 : reserve))
        return null;
      const queued = account.line.first?.line.first?.ready.first as QueuedDelivery;
      if (this.#mayHold(account, this.#contentOf(queued))) return this.#begin(account, queued);
      // an account without running calls gets the next bytes that are freed
      if (account.running === 0) return null;
      this.#tooLarge.add(account);
      this.#place(account);
    }
  }

  /** @param retryAt time of the next attempt, in milliseconds since 1970; null: the delivery has ended */
  end(
    queued: QueuedDelivery,
    retryAt: number | null,
    health: TargetHealth = { failed: retryAt !== null },
  ): void {
    const { target } = queued.lane;
    const { account } = target;
    const content = this.#contentOf(queued);
    this.#running--;
    this.#contents -= content;
    // the heap is ordered by `running`
    this.#ready.remove(account);
    account.running--;
    account.contents -= content;
    target.running--;
    learnHealth(target, health, this.#limits);
    if (retryAt === null) this.#remove(queued);
    else {
      queued.nextAt = retryAt;
      this.#later.add(queued);
    }
    const waiting = [...this.#tooLarge];
    this.#tooLarge.clear();
    for (const other of waiting) this.#place(other);
    this.#placeTarget(target);
  }

  #hold(account: Account, own: Pick<QueuedDelivery, 'delivery' | 'lane' | 'memory'>): QueuedDelivery {
    const { delivery, lane, memory } = own;
    const { attempts, nextAt } = delivery;
    const progress = { attempts, nextAt: nextAt.getTime(), waitsFor: 0 };
    const queued: QueuedDelivery = { delivery, lane, memory, ...progress, followers: new Map(), slot: -1 };
    account.deliveries.set(delivery.id, queued);
    account.memory += memory;
    this.#memory += memory;
    if (isSplitOff(delivery)) lane.target.split++;
    return queued;
  }

  #shareOf(): number {
    const { memory, share } = this.#limits;
    return (memory - this.#memory) / share;
  }

  /** A large content counts as a quarter of the limit: a single record may be larger than the limit. */
  #contentOf({ delivery }: QueuedDelivery): number {
    return Math.min(delivery.bytes, this.#limits.contents / 4);
  }

  #mayHold(account: Account, content: number): boolean {
    const { contents, contentsOfAccount } = this.#limits;
    const left = contents - this.#contents;
    if (account.running === 0) return content <= left;
    return account.contents + content <= contentsOfAccount && content <= left / 2;
  }

  #begin(account: Account, queued: QueuedDelivery): QueuedDelivery {
    const { lane } = queued;
    const { target } = lane;
    const content = this.#contentOf(queued);
    lane.ready.remove(queued);
    target.line.remove(lane);
    lane.turn = ++this.#turn;
    if (lane.ready.first !== undefined) target.line.add(lane);
    account.line.remove(target);
    target.turn = ++this.#turn;
    target.running++;
    if (target.gap > 0) target.until = this.#now + target.gap;
    this.#ready.remove(account);
    account.running++;
    account.contents += content;
    account.turn = ++this.#turn;
    this.#running++;
    this.#contents += content;
    this.#placeTarget(target);
    return queued;
  }

  /** Puts a delivery into the queue of its address, ready to be sent. */
  #line(queued: QueuedDelivery): void {
    const { lane } = queued;
    const { target } = lane;
    lane.ready.add(queued);
    if (lane.slot === -1) target.line.add(lane);
    if (target.slot === -1) this.#placeTarget(target);
  }

  /** Puts an address into its account's queue or among the paused ones, or takes it out of both. */
  #placeTarget(target: Target): void {
    const { account } = target;
    if (target.isPaused) this.#paused.remove(target);
    else account.line.remove(target);
    const isBusy = target.gap > 0 && target.running > 0;
    const waits = target.line.first !== undefined && !isBusy;
    target.isPaused = waits && target.until > this.#now;
    if (target.isPaused) this.#paused.add(target);
    else if (waits) account.line.add(target);
    this.#place(account);
  }

  /** Puts an account into the queue of accounts that may start a call, or takes it out. */
  #place(account: Account): void {
    this.#ready.remove(account);
    const { line, running } = account;
    const mayBegin = running < this.#limits.callsOfAccount && !this.#tooLarge.has(account);
    if (mayBegin && line.first !== undefined) this.#ready.add(account);
  }

  #remove({ delivery, lane, memory, followers }: QueuedDelivery): void {
    const { target } = lane;
    const { account } = target;
    const { id, recordIds } = delivery;
    for (const record of recordIds)
      if (lane.last.get(record)?.delivery === delivery) lane.last.delete(record);
    for (const follower of followers.values()) if (--follower.waitsFor === 0) this.#later.add(follower);
    account.deliveries.delete(id);
    account.memory -= memory;
    this.#memory -= memory;
    if (isSplitOff(delivery)) target.split--;
    if (lane.last.size === 0) target.lanes.delete(lane.spaceId);
    if (target.lanes.size === 0) account.targets.delete(target.url);
    if (account.deliveries.size === 0) this.#accounts.delete(account.id);
  }
}
