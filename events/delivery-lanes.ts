import type { Delivery } from './delivery.ts';
import { Heap, type HeapItem } from './heap.ts';

/** The factor by which a success shortens a gap, and the milliseconds below which it ends: two dozen successes, in five seconds. */
const gapLeft = 0.8;
const leastGap = 5;

/** A delivery that this process is to send. */
export interface QueuedDelivery extends HeapItem {
  readonly delivery: Delivery;
  readonly lane: Lane;
  readonly memory: number;
  attempts: number;
  /** Milliseconds since 1970. */
  nextAt: number;
  /** The number of its records that earlier deliveries have as well. */
  waitsFor: number;
  /** The next delivery of each of its records. */
  readonly followers: Map<string, QueuedDelivery>;
}

/** Deliveries of one space to one address. Deliveries of the same record are sent in order. */
export interface Lane extends HeapItem {
  readonly target: Target;
  readonly spaceId: string;
  readonly ready: Heap<QueuedDelivery>;
  /** The last delivery of each record. */
  readonly last: Map<string, QueuedDelivery>;
  turn: number;
}

/** An address that an account calls. */
export interface Target extends HeapItem {
  readonly account: Account;
  readonly url: string;
  readonly lanes: Map<string, Lane>;
  /** Lanes with something to send, the least recently served first. */
  readonly line: Heap<Lane>;
  turn: number;
  running: number;
  /** Calls that failed since the last success. */
  failures: number;
  /** Milliseconds between the starts of two calls, which then run one at a time. 0: no limit. */
  gap: number;
  /** No call begins before this time, in milliseconds since 1970. */
  until: number;
  /** Whether it waits for that time instead of in its account's line. */
  isPaused: boolean;
  /** The number of its deliveries that were split off a batch. */
  split: number;
}

export interface Account extends HeapItem {
  readonly id: string;
  readonly deliveries: Map<string, QueuedDelivery>;
  readonly targets: Map<string, Target>;
  /** Addresses with something to send, the least recently served first. */
  readonly line: Heap<Target>;
  memory: number;
  running: number;
  /** Bytes of contents that its running calls hold. */
  contents: number;
  turn: number;
}

/** What a call showed about the health of its address. */
export interface TargetHealth {
  readonly failed: boolean;
  /** Whether it wants fewer calls. */
  readonly slows?: boolean;
  /** Time before which it wants no call, in milliseconds since 1970; 0: not specified. */
  readonly until?: number;
}

export function newAccount(id: string): Account {
  const counts = { memory: 0, running: 0, contents: 0, turn: 0 };
  return {
    id,
    deliveries: new Map(),
    targets: new Map(),
    line: new Heap<Target>(isServedEarlier),
    ...counts,
    slot: -1,
  };
}

/** @param gap for a new address */
export function laneOf(account: Account, { spaceId, url }: Delivery, gap: number): Lane {
  let target = account.targets.get(url);
  if (target === undefined) {
    const counts = { turn: 0, running: 0, failures: 0, gap, until: 0, isPaused: false, split: 0, slot: -1 };
    target = { account, url, lanes: new Map(), line: new Heap<Lane>(isServedEarlier), ...counts };
    account.targets.set(url, target);
  }
  const known = target.lanes.get(spaceId);
  if (known !== undefined) return known;
  const lane = {
    target,
    spaceId,
    ready: new Heap<QueuedDelivery>(isEarlier),
    last: new Map(),
    turn: 0,
    slot: -1,
  };
  target.lanes.set(spaceId, lane);
  return lane;
}

export function learnHealth(
  target: Target,
  { failed, slows = false, until = 0 }: TargetHealth,
  limits: { readonly failures: number; readonly gap: number },
): void {
  target.failures = failed ? target.failures + 1 : 0;
  target.until = Math.max(target.until, until);
  const shorter = target.gap * gapLeft;
  if (slows || target.failures >= limits.failures) target.gap = limits.gap;
  else if (!failed) target.gap = shorter < leastGap ? 0 : shorter;
}

export function isEarlier(one: QueuedDelivery, other: QueuedDelivery): boolean {
  return one.nextAt === other.nextAt ? one.delivery.id < other.delivery.id : one.nextAt < other.nextAt;
}

function isServedEarlier(one: { readonly turn: number }, other: { readonly turn: number }): boolean {
  return one.turn < other.turn;
}
