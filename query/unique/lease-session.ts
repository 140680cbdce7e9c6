import { randomBytes } from 'node:crypto';

/** Milliseconds. All processes must have the same `lease`: another one needs another `reservationsKey`. */
export interface LeaseTimes {
  /** How long a session lasts that is not renewed, by Redis' clock. */
  readonly lease: number;
  /** Subtracted by our own clock, because the clocks may run at different speeds. */
  readonly margin: number;
  /** The longest write. None begins when less of the lease is left. */
  readonly writeTime: number;
  readonly renewEvery: number;
}

/** Two attempts to renew in a row may fail before writes are held back. */
export const usualTimes: LeaseTimes = { lease: 15_000, margin: 1500, writeTime: 6000, renewEvery: 2500 };

/** A point in time by two clocks in milliseconds. */
export interface Moment {
  /** Never set, but stands still while a virtual machine is paused. */
  readonly monotonic: number;
  readonly wall: number;
}

export function currentMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds between two points, by the clock that says more: a lease rather ends too early than too late. */
function elapsed(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** One lease of a process, on everything that its writes hold under its name. */
export class LeaseSession {
  readonly id = randomBytes(12).toString('base64url');
  readonly #times: LeaseTimes;
  readonly #now: () => Moment;
  /** When the last command was sent that the lease was given by: it can't have begun earlier. */
  sent: Moment;
  /** Redis does not know it any more: nothing may begin under it. */
  lost = false;
  /** Writes that hold something, or are about to, and all that there ever were. */
  held = 0;
  writes = 0;

  constructor(times: LeaseTimes, now: () => Moment) {
    this.#times = times;
    this.#now = now;
    this.sent = now();
  }

  /** Whether a write that begins now ends before the lease does. */
  coversWrite(): boolean {
    const { lease, margin, writeTime } = this.#times;
    return !this.lost && elapsed(this.sent, this.#now()) + writeTime <= lease - margin;
  }
}
