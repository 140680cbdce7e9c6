import type { Histogram } from 'hdr-histogram-js';
import type { NoteBatch } from '../live/live-notes.ts';
import type { Mix } from '../mix/mix.ts';
import { EventDelays } from './event-delays.ts';
import { newHistogram, percentile, record } from './histogram.ts';
import { type FromWorker, readTag, type Samples } from './messages.ts';
import type { Window } from './result.ts';
import { RunningTotals } from './running-totals.ts';

interface OpenWindow {
  phase: number;
  sent: number;
  good: number;
  failed: number;
  late: number;
  busy: number;
  waited: number;
  readonly latency: Histogram;
}

/** What the main thread measures of a second itself. */
export interface SecondCost {
  readonly toolCpu: number;
  readonly targetCpu: number | null;
  readonly targetMemory: number | null;
}

export interface CollectedPhase {
  readonly name: string;
  counts: boolean;
  readonly totals: RunningTotals;
}

interface CollectorOptions {
  readonly mix: Mix;
  readonly workers: number;
  costOf(): SecondCost;
  onWindow(window: Window): void;
}

/** Merges what the workers tell: totals by phase and by request, and windows of a second. */
export class Collector {
  readonly phases: CollectedPhase[] = [];
  requests: readonly RunningTotals[];
  readonly windows: Window[] = [];
  /** Seconds in which a worker thread worked more than 80 % of the time. */
  busySeconds = 0;
  waited = 0;
  /** Null before there are notes of writes or events. */
  delays: EventDelays | null = null;
  readonly #options: CollectorOptions;
  readonly #open = new Map<number, OpenWindow>();
  /** The last second that each worker has ended. */
  readonly #ended: number[];
  #next = 0;
  /** Of the last second in which requests were sent. */
  #phase = 0;
  readonly #spare: Histogram[] = [];

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#ended = Array.from({ length: options.workers }, () => -1);
    this.requests = options.mix.requests.map(() => new RunningTotals());
  }

  /** @returns the place of the phase */
  beginPhase(name: string, counts: boolean): number {
    return this.phases.push({ name, counts, totals: new RunningTotals() }) - 1;
  }

  /** What came so far counts no more. */
  startOver(): void {
    for (const phase of this.phases) phase.counts = false;
    this.requests = this.requests.map(() => new RunningTotals());
    this.delays = null;
  }

  add({ second, outcomes, counts }: Samples): void {
    const window = this.#windowOf(second);
    for (const one of counts) {
      const phase = this.phases[one.phase] as CollectedPhase;
      phase.totals.addCounts(one);
      if (phase.counts) this.requests[one.request]?.addCounts(one);
      window.sent += one.sent;
      if (one.sent > 0) window.phase = Math.max(window.phase, one.phase);
    }
    for (let at = 0; at < outcomes.length; at += 3) {
      const { phase: place, request, good } = readTag(outcomes[at] as number);
      const [latency, serviceTime] = [outcomes[at + 1] as number, outcomes[at + 2] as number];
      const phase = this.phases[place] as CollectedPhase;
      phase.totals.addOutcome(good, latency, serviceTime);
      if (phase.counts) this.requests[request]?.addOutcome(good, latency, serviceTime);
      record(window.latency, latency);
      if (good) window.good++;
      else window.failed++;
    }
  }

  endSecond(worker: number, { second, busy, late, waited }: Extract<FromWorker, { kind: 'second' }>): void {
    const window = this.#windowOf(second);
    window.late = Math.max(window.late, late);
    window.busy = Math.max(window.busy, busy);
    this.waited += waited;
    this.#ended[worker] = second;
    const ended = Math.min(...this.#ended);
    for (; this.#next <= ended; this.#next++) this.#close(this.#next);
  }

  addNotes(batch: NoteBatch): void {
    this.delays ??= new EventDelays();
    this.delays.add(batch);
  }

  /** Closes what is left; the last second was not a whole one. */
  end(): void {
    for (const second of [...this.#open.keys()].sort((a, b) => a - b)) this.#close(second);
  }

  /** The outcomes of all phases that count. */
  whole(): RunningTotals {
    const whole = new RunningTotals();
    for (const { totals } of this.phases.filter(({ counts }) => counts)) whole.merge(totals);
    return whole;
  }

  #windowOf(second: number): OpenWindow {
    // what comes after the end of its second belongs to the next
    const place = Math.max(second, this.#next);
    let window = this.#open.get(place);
    if (window === undefined) {
      const latency = this.#spare.pop() ?? newHistogram();
      window = { phase: 0, sent: 0, good: 0, failed: 0, late: 0, busy: 0, waited: 0, latency };
      this.#open.set(place, window);
    }
    return window;
  }

  #close(second: number): void {
    const { phase, sent, good, failed, late, busy, latency } = this.#windowOf(second);
    // while a server stands still, or the last requests end, none are sent
    if (sent > 0) this.#phase = phase;
    const window: Window = {
      at: second,
      phase: this.phases[this.#phase]?.name ?? '',
      sent,
      good,
      failed,
      p50: percentile(latency, 50),
      p90: percentile(latency, 90),
      p99: percentile(latency, 99),
      max: percentile(latency, 100),
      ...this.#options.costOf(),
      late,
    };
    if (busy > 0.8) this.busySeconds++;
    latency.reset();
    this.#spare.push(latency);
    this.#open.delete(second);
    this.windows.push(window);
    this.#options.onWindow(window);
  }
}
