import type { Loop, LoopOptions } from './loop.ts';
import { Schedule } from './schedule.ts';

/**
 * Sends requests when the schedule says so, whether or not earlier ones are answered. A server that stalls so meets as many
 * requests as if it did not, and all of them wait: their latency counts from the intended start.
 */
export class OpenLoop implements Loop {
  readonly #options: LoopOptions;
  readonly #schedule: Schedule;
  readonly #requests: number;
  #next: number;
  #running = 0;
  #isBlocked = false;
  #isStopped = false;
  /** Requests whose time came before are late because of the target, which holds all that may be under way. */
  #blockedUntil = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  readonly #end: NodeJS.Timeout;

  constructor(options: LoopOptions) {
    this.#options = options;
    const { phase, worker, began } = options;
    const rate = phase.rate as number;
    this.#schedule = new Schedule(rate, phase.rateAtEnd ?? rate, phase.seconds);
    // there is nothing to send in a mix of streams
    this.#requests = options.runner.isIdle ? 0 : this.#schedule.requests;
    this.#next = worker;
    this.#end = setTimeout(() => this.stop(), Math.max(0, began + phase.seconds * 1000 - performance.now()));
    this.#sendDue();
  }

  /** What was to start by now and did not counts as failed. */
  stop(): void {
    if (this.#isStopped) return;
    // what is due to the last millisecond
    this.#sendDue();
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#end);
    const { first, began, index, workers, runner } = this.#options;
    const now = performance.now();
    for (; this.#isBlocked && this.#next < this.#requests; this.#next += workers) {
      const intended = began + this.#schedule.startOf(this.#next);
      if (intended > now) break;
      runner.skip(index, first + this.#next, intended);
    }
    this.#options.onStarted(first + this.#next);
    this.#drain();
  }

  readonly #sendDue = (): void => {
    if (this.#isStopped) return;
    const { began, workers, inFlight } = this.#options;
    clearTimeout(this.#timer);
    for (; this.#next < this.#requests; this.#next += workers) {
      const intended = began + this.#schedule.startOf(this.#next);
      const now = performance.now();
      if (intended > now) {
        // a millisecond is the least that a timer waits
        this.#timer = setTimeout(this.#sendDue, intended - now);
        return;
      }
      if (this.#running >= inFlight) {
        this.#isBlocked = true;
        this.#options.runner.recorder.waited();
        return;
      }
      this.#send(intended, now);
    }
    // all have started; the phase still lasts until its end
  };

  #send(intended: number, now: number): void {
    const { first, index, runner } = this.#options;
    if (this.#isBlocked) this.#blockedUntil = now;
    this.#isBlocked = false;
    this.#running++;
    const late = intended > this.#blockedUntil ? now - intended : 0;
    runner.run(index, first + this.#next, intended, now, late).then(this.#ended, this.#options.onFailure);
  }

  readonly #ended = (): void => {
    this.#running--;
    if (this.#isStopped) this.#drain();
    // an answer is also a moment to look at the clock
    else this.#sendDue();
  };

  #drain(): void {
    if (this.#running === 0) this.#options.onDrained();
  }
}
