import type { NoteBatch } from '../live/live-notes.ts';
import { latencyOf, newHistogram } from './histogram.ts';
import type { Latency } from './result.ts';

/** Milliseconds that an event waits for the note of its write: that thread may post later, and an event may come first. */
const patience = 5000;
/** Milliseconds for which a write is remembered. */
const memory = 65_000;

/**
 * How late events are: from the acknowledgement of a write to each event that tells of it, and 0 when the event comes
 * first. Events of other writes are left out, and so are writes without events: they may not match any stream.
 */
export class EventDelays {
  readonly #histogram = newHistogram();
  /** When writes were acknowledged, by their keys, the oldest first. */
  readonly #writes = new Map<number, number>();
  readonly #waiting: { readonly events: Float64Array; readonly every: number }[] = [];
  /** The time of the last note. */
  #now = 0;

  add({ writes, events, every }: NoteBatch): void {
    for (let at = 0; at < writes.length; at += 2)
      this.#writes.set(writes[at] as number, writes[at + 1] as number);
    if (events.length > 0) this.#waiting.push({ events, every });
    this.#now = Math.max(this.#now, lastTimeOf(writes), lastTimeOf(events));
    this.#joinBefore(this.#now - patience);
    for (const [key, time] of this.#writes) {
      if (time >= this.#now - memory) break;
      this.#writes.delete(key);
    }
  }

  /** Once there are no more notes. @returns null when no event was told from a write */
  end(): Latency | null {
    this.#joinBefore(Number.POSITIVE_INFINITY);
    return this.#histogram.totalCount === 0 ? null : latencyOf(this.#histogram);
  }

  #joinBefore(time: number): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (lastTimeOf(first.events) > time) return;
      this.#waiting.shift();
      this.#join(first.events, first.every);
    }
  }

  #join(events: Float64Array, every: number): void {
    for (let at = 0; at < events.length; at += 2) {
      const written = this.#writes.get(events[at] as number);
      if (written === undefined) continue;
      const microseconds = Math.round(1000 * ((events[at + 1] as number) - written));
      this.#histogram.recordValueWithCount(Math.max(0, microseconds), every);
    }
  }
}

function lastTimeOf(notes: Float64Array): number {
  return notes.at(-1) ?? 0;
}
