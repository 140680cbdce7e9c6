/** A point in time by two clocks in milliseconds. */
export interface Moment {
  /** Never set, but stands still while a virtual machine is paused. */
  readonly monotonic: number;
  readonly wall: number;
}

export function currentMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds between two points, by the clock that says more: what must not last too long is over too early rather. */
export function elapsed(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}
