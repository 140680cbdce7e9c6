import type { Outcome } from '../targets/target.ts';
import { type FromWorker, type RequestCounts, type Samples, tagOf } from './messages.ts';

const outcomesOfChunk = 8192;
const numbersOfOutcome = 3;
/** Different words of refusal a request; the rest are counted as one. */
const mostCodes = 50;
const longest = 2 ** 32 - 1;

/**
 * What a worker knows of its outcomes until the main thread has it: raw times, so that recording costs three stores, and the
 * thread that sends never stops to encode a histogram.
 */
export class Recorder {
  readonly #post: (message: FromWorker, transfer?: ArrayBuffer[]) => void;
  readonly #began: number;
  readonly #counts = new Map<number, RequestCounts>();
  #outcomes = new Uint32Array(outcomesOfChunk * numbersOfOutcome);
  #length = 0;
  #second = 0;
  #late = 0;
  #waited = 0;
  #utilization = performance.eventLoopUtilization();

  /** @param began when the run began, on this thread's clock */
  constructor(began: number, post: (message: FromWorker, transfer?: ArrayBuffer[]) => void) {
    this.#began = began;
    this.#post = post;
  }

  /** A request was sent. @param late milliseconds after its time, as far as this thread is to blame */
  started(phase: number, request: number, now: number, late: number): void {
    this.#turnTo(now);
    this.#countsOf(phase, request).sent++;
    if (late > this.#late) this.#late = late;
  }

  waited(): void {
    this.#waited++;
  }

  /** Times are milliseconds. */
  ended(
    phase: number,
    request: number,
    outcome: Outcome,
    now: number,
    intended: number,
    started: number,
  ): void {
    this.#turnTo(now);
    const counts = this.#countsOf(phase, request);
    counts.sentBytes += outcome.sentBytes;
    counts.receivedBytes += outcome.receivedBytes;
    if (outcome.code !== null) {
      const code =
        outcome.code in counts.codes || Object.keys(counts.codes).length < mostCodes ? outcome.code : 'other';
      counts.codes[code] = (counts.codes[code] ?? 0) + 1;
    }
    const outcomes = this.#outcomes;
    outcomes[this.#length] = tagOf(phase, request, outcome.good);
    outcomes[this.#length + 1] = Math.min(longest, Math.round((now - intended) * 1000));
    outcomes[this.#length + 2] = Math.min(longest, Math.round((now - started) * 1000));
    this.#length += numbersOfOutcome;
    if (this.#length === outcomes.length) this.flush();
  }

  /** Ends the seconds that are over: called once a second, and before each outcome. */
  turn(): void {
    this.#turnTo(performance.now());
  }

  flush(): void {
    if (this.#length === 0 && this.#counts.size === 0) return;
    const outcomes = this.#outcomes.slice(0, this.#length);
    const message: Samples = {
      kind: 'samples',
      second: this.#second,
      outcomes,
      counts: [...this.#counts.values()],
    };
    this.#post(message, [outcomes.buffer]);
    this.#counts.clear();
    this.#length = 0;
  }

  #turnTo(now: number): void {
    const second = Math.max(0, Math.floor((now - this.#began) / 1000));
    if (second === this.#second) return;
    this.flush();
    const utilization = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(utilization, this.#utilization).utilization;
    this.#utilization = utilization;
    this.#post({ kind: 'second', second: second - 1, busy, late: this.#late, waited: this.#waited });
    this.#second = second;
    this.#late = 0;
    this.#waited = 0;
  }

  #countsOf(phase: number, request: number): RequestCounts {
    const key = phase * 4096 + request;
    let counts = this.#counts.get(key);
    if (counts === undefined) {
      counts = { phase, request, sent: 0, sentBytes: 0, receivedBytes: 0, codes: Object.create(null) };
      this.#counts.set(key, counts);
    }
    return counts;
  }
}
