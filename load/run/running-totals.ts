import type { Histogram } from 'hdr-histogram-js';
import { latencyOf, newHistogram, record } from './histogram.ts';
import type { RequestCounts } from './messages.ts';
import type { Totals } from './result.ts';

/** Counts and latencies of requests, while they come. */
export class RunningTotals {
  sent = 0;
  good = 0;
  failed = 0;
  sentBytes = 0;
  receivedBytes = 0;
  readonly codes: Record<string, number> = Object.create(null);
  readonly latency: Histogram = newHistogram();
  readonly serviceTime: Histogram = newHistogram();

  /** Times are microseconds. */
  addOutcome(isGood: boolean, latency: number, serviceTime: number): void {
    if (isGood) this.good++;
    else this.failed++;
    record(this.latency, latency);
    record(this.serviceTime, serviceTime);
  }

  addCounts({ sent, sentBytes, receivedBytes, codes }: RequestCounts): void {
    this.sent += sent;
    this.sentBytes += sentBytes;
    this.receivedBytes += receivedBytes;
    this.#addCodes(codes);
  }

  merge(other: RunningTotals): void {
    this.sent += other.sent;
    this.good += other.good;
    this.failed += other.failed;
    this.sentBytes += other.sentBytes;
    this.receivedBytes += other.receivedBytes;
    this.#addCodes(other.codes);
    this.latency.add(other.latency);
    this.serviceTime.add(other.serviceTime);
  }

  /** Share of the outcomes that failed. */
  get errors(): number {
    const all = this.good + this.failed;
    return all === 0 ? 0 : this.failed / all;
  }

  totals(seconds: number): Totals {
    const { sent, good, failed, sentBytes, receivedBytes, codes } = this;
    return {
      sent,
      good,
      failed,
      perSecond: seconds > 0 ? good / seconds : 0,
      sentBytes,
      receivedBytes,
      latency: latencyOf(this.latency),
      serviceTime: latencyOf(this.serviceTime),
      codes: { ...codes },
    };
  }

  #addCodes(codes: Readonly<Record<string, number>>): void {
    for (const [code, count] of Object.entries(codes)) this.codes[code] = (this.codes[code] ?? 0) + count;
  }
}
