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
  readonly #counts: LiveCounts = { streams: 0, events: 0, lost: 0, ends: {} };

  constructor(performer: Performer, { requests }: Mix, signal: AbortSignal) {
    this.#performer = performer;
    this.#requests = requests.filter((request) => request.kind === 'live');
    this.#signal = signal;
  }

  /** Closes those that are open, and opens others. */
  async replace(numbers: readonly number[]): Promise<void> {
    this.#close();
    if (numbers.length === 0) return;
    const { openStreams } = this.#performer;
    if (openStreams === undefined) throw new Error('a target of this kind has no streams');
    const work = { requests: this.#requests, numbers, signal: this.#signal };
    this.#open = await openStreams.call(this.#performer, work);
    this.#counts.streams = Math.max(this.#counts.streams, numbers.length);
  }

  /** Ends the streams that are open, once nothing is written any more. @returns sentences for what they lost */
  async end(): Promise<{ counts: LiveCounts; wrong: readonly string[] }> {
    const wrong = (await this.#open?.compare?.()) ?? [];
    this.#close();
    return { counts: this.#counts, wrong };
  }

  #close(): void {
    if (this.#open === null) return;
    const { events, lost, ends = {} } = this.#open.counts;
    this.#counts.events += events;
    this.#counts.lost += lost;
    addCounts(this.#counts.ends, ends);
    this.#open.close();
    this.#open = null;
  }
}

/** Adds counts by word. */
export function addCounts(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [word, count] of Object.entries(counts)) to[word] = (to[word] ?? 0) + count;
}
