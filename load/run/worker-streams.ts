import type { LiveRequest, Mix } from '../mix/mix.ts';
import type { OpenStreams, Performer } from '../targets/target.ts';
import type { LiveCounts } from './messages.ts';

/** The streams of a worker. */
export class WorkerStreams {
  readonly #performer: Performer;
  readonly #requests: readonly LiveRequest[];
  readonly #signal: AbortSignal;
  #open: OpenStreams | null = null;
  /** Of those that were closed. */
  readonly #counts: LiveCounts = { streams: 0, events: 0, lost: 0 };

  constructor(performer: Performer, { requests }: Mix, signal: AbortSignal) {
    this.#performer = performer;
    this.#requests = requests.filter((request) => request.kind === 'live');
    this.#signal = signal;
  }

  /** Closes those that are open, and opens others. */
  async replace(numbers: readonly number[]): Promise<void> {
    this.close();
    if (numbers.length === 0) return;
    const { openStreams } = this.#performer;
    if (openStreams === undefined) throw new Error('a target of this kind has no streams');
    const work = { requests: this.#requests, numbers, signal: this.#signal };
    this.#open = await openStreams.call(this.#performer, work);
    this.#counts.streams = Math.max(this.#counts.streams, numbers.length);
  }

  close(): LiveCounts {
    if (this.#open !== null) {
      this.#counts.events += this.#open.counts.events;
      this.#counts.lost += this.#open.counts.lost;
      this.#open.close();
      this.#open = null;
    }
    return this.#counts;
  }
}
