import { randomBytes } from 'node:crypto';
import type { LeaseTimes } from './lease-times.ts';
import { elapsed, type Moment } from './moment.ts';

/** One lease of a process, on everything that its writes hold under its name. */
export class LeaseSession {
  readonly id = randomBytes(12).toString('base64url');
  readonly #times: LeaseTimes;
  readonly #now: () => Moment;
  /** When the last command was sent that the lease was given by: it can't have begun earlier. */
  #sent: Moment;
  #lost = false;
  #writes = 0;
  /** Writes that hold something, or are about to. */
  held = 0;

  constructor(times: LeaseTimes, now: () => Moment) {
    this.#times = times;
    this.#now = now;
    this.#sent = now();
  }

  nextWrite(): number {
    return this.#writes++;
  }

  renewed(sent: Moment): void {
    this.#sent = sent;
  }

  /** Redis does not know it any more: nothing may begin under it. */
  lose(): void {
    this.#lost = true;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Whether a write that begins now ends before the lease does. */
  coversWrite(): boolean {
    const { lease, margin, writeTime } = this.#times;
    return !this.#lost && elapsed(this.#sent, this.#now()) + writeTime <= lease - margin;
  }
}
