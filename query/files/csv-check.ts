import { FileProblem } from '../imports/formats/file-problem.ts';
import { type ThreadLimits, threadResult } from '../imports/thread/worker-thread.ts';
import { type CsvCheckTask, type CsvProgress, readCsvShape } from './read-csv-shape.ts';

/** Bytes of CSV that take a millisecond: the start of a thread would take longer. */
const smallFile = 256 * 1024;

/** Reads CSV on its own thread while the engine does, and finds what an import would refuse but the engine accepts. */
export class CsvCheck {
  readonly #stop = new AbortController();
  readonly #finished: Promise<unknown>;
  #progress: CsvProgress = {
    records: 0,
    blankLines: 0,
    hasBlanks: false,
    hasQuotedNull: false,
    isGood: true,
    isOver: false,
  };
  #waiter: { readonly records: number; readonly resolve: () => void } | null = null;

  /** @param size bytes of text; Infinity: unknown */
  constructor(task: CsvCheckTask, size: number, { signal, ...limits }: ThreadLimits) {
    signal.addEventListener('abort', () => this.#stop.abort(signal.reason), { once: true });
    const module = new URL('./csv-check-thread', import.meta.url);
    const take = (progress: CsvProgress): true | undefined => this.#take(progress);
    this.#finished =
      size <= smallFile
        ? readCsvShape(task, take)
        : threadResult(module, task, take, { ...limits, signal: this.#stop.signal });
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

  get hasBlanks(): boolean {
    return this.#progress.hasBlanks;
  }

  /** Stops reading. Resolves when the file is free. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the check is no longer needed'));
    await this.#finished.catch(() => {});
  }

  #take(progress: CsvProgress): true | undefined {
    this.#progress = progress;
    const { isGood, hasQuotedNull } = progress;
    const word = 'a cell in quotes is one of the words of nulls, which only imports can tell apart';
    if (!isGood)
      throw new FileProblem(null, hasQuotedNull ? word : 'it is not CSV that an import would accept');
    this.#resolveWaiter();
    return progress.isOver || undefined;
  }

  #resolveWaiter(): void {
    if (this.#waiter !== null && this.#progress.records >= this.#waiter.records) this.#waiter.resolve();
  }
}
