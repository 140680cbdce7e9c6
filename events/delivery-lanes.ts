import type { Delivery } from './delivery.ts';
import { Heap, type Slotted } from './heap.ts';

/** What a success leaves of a gap, and the milliseconds below which nothing is left: after two dozen, in five seconds. */
const gapLeft = 0.8;
const leastGap = 5;

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
  /** Deliveries that wait for it, by record: the next of each. */
  readonly followers: Map<string, Queued>;
}

/** Deliveries of one space to one address. Those of one record are sent in order. */
export interface Lane extends Slotted {
  readonly target: Target;
  readonly spaceId: string;
  readonly ready: Heap<Queued>;
  /** The last delivery of each record. */
  readonly last: Map<string, Queued>;
  turn: number;
}

/** An address that an account has called. */
export interface Target extends Slotted {
  readonly account: Account;
  readonly url: string;
  readonly lanes: Map<string, Lane>;
  /** Lanes with something to send, the least recently served first. */
  readonly line: Heap<Lane>;
  turn: number;
  running: number;
  /** Calls that failed since the last success. */
  failures: number;
  /** Milliseconds between the beginnings of two calls, which then come one at a time. 0: there is no such limit. */
  gap: number;
  /** No call begins before this time, in milliseconds since 1970. */
  until: number;
  /** Whether it waits for that time, and not in the line of its account. */
  isPaused: boolean;
  /** Its deliveries that were split off a batch. */
  split: number;
}

export interface Account extends Slotted {
  readonly id: string;
  readonly deliveries: Map<string, Queued>;
  readonly targets: Map<string, Target>;
  /** Addresses with something to send, the least recently served first. */
  readonly line: Heap<Target>;
  memory: number;
  running: number;
  /** Bytes of contents that its calls hold. */
  contents: number;
  turn: number;
}

/** What the end of a call says about its address. */
export interface TargetHealth {
  readonly failed: boolean;
  /** Whether it asked for fewer calls. */
  readonly slows?: boolean;
  /** Time before which it wants no call, in milliseconds since 1970; 0: it named none. */
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

/** @param gap of an address that is new */
export function laneOf(account: Account, { spaceId, url }: Delivery, gap: number): Lane {
  let target = account.targets.get(url);
  if (target === undefined) {
    const counts = { turn: 0, running: 0, failures: 0, gap, until: 0, isPaused: false, split: 0, slot: -1 };
    target = { account, url, lanes: new Map(), line: new Heap<Lane>(isServedEarlier), ...counts };
    account.targets.set(url, target);
  }
  const known = target.lanes.get(spaceId);
  if (known !== undefined) return known;
  const lane = { target, spaceId, ready: new Heap<Queued>(isEarlier), last: new Map(), turn: 0, slot: -1 };
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

export function isEarlier(one: Queued, other: Queued): boolean {
  return one.nextAt === other.nextAt ? one.delivery.id < other.delivery.id : one.nextAt < other.nextAt;
}

function isServedEarlier(one: { readonly turn: number }, other: { readonly turn: number }): boolean {
  return one.turn < other.turn;
}
