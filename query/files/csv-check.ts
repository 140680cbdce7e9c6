import { FileProblem } from '../imports/formats/file-problem.ts';
import { type ThreadLimits, threadResult } from '../imports/thread/worker-thread.ts';
import type { ByteSource } from './byte-source.ts';

/** The work of the thread (csv-check-thread.ts). */
export interface CsvCheckTask {
  readonly source: ByteSource;
  /** Bytes before the header (CsvHeader). */
  readonly prefixBytes: number;
  readonly delimiter: string;
  /** How many there are. */
  readonly columns: number;
  /** Words for null. */
  readonly nulls: readonly string[];
}

/** What the thread has read so far. */
export interface CsvProgress {
  /** Valid records, with the header. */
  readonly records: number;
  readonly blankLines: number;
  readonly isGood: boolean;
  /** Whether it has read all of the file. */
  readonly isOver: boolean;
}

/** Reads CSV on its own thread while the engine does, and finds what an import would refuse but the engine accepts. */
export class CsvCheck {
  readonly #stop = new AbortController();
  readonly #finished: Promise<unknown>;
  #progress: CsvProgress = { records: 0, blankLines: 0, isGood: true, isOver: false };
  #waiter: { readonly records: number; readonly resolve: () => void } | null = null;

  constructor(task: CsvCheckTask, { signal, ...limits }: ThreadLimits) {
    signal.addEventListener('abort', () => this.#stop.abort(signal.reason), { once: true });
    const module = new URL('./csv-check-thread', import.meta.url);
    const take = (progress: CsvProgress): true | undefined => this.#take(progress);
    this.#finished = threadResult(module, task, take, { ...limits, signal: this.#stop.signal });
    // the failure may come before anybody waits for it
    this.#finished.catch(() => {});
  }

  /** Resolves when so many rows are checked; Infinity: all. Rejects with a FileProblem. */
  async covers(rows: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      // the header is also a record
      this.#waiter = { records: rows + 1, resolve };
      this.#resolveWaiter();
    });
    await Promise.race([this.#finished, enough]);
  }

  get hasBlankLines(): boolean {
    return this.#progress.blankLines > 0;
  }

  /** Stops reading. Resolves when the file is free. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the check is no longer needed'));
    await this.#finished.catch(() => {});
  }

  #take(progress: CsvProgress): true | undefined {
    this.#progress = progress;
    if (!progress.isGood) throw new FileProblem(null, 'it is not CSV that an import would accept');
    this.#resolveWaiter();
    return progress.isOver || undefined;
  }

  #resolveWaiter(): void {
    if (this.#waiter !== null && this.#progress.records >= this.#waiter.records) this.#waiter.resolve();
  }
}
