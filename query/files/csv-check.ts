import { FileProblem } from '../imports/formats/file-problem.ts';
import { decompress, type FileBytes } from '../imports/formats/file-text.ts';
import { CsvShape } from './csv-shape.ts';
import type { CsvHeader } from './csv-table.ts';

/** Reads CSV while the engine does, and finds what an import would refuse but the engine accepts. */
export class CsvCheck {
  readonly #shape: CsvShape;
  readonly #stop = new AbortController();
  readonly #finished: Promise<void>;
  #waiter: { readonly records: number; readonly resolve: () => void } | null = null;

  constructor(file: FileBytes, { names, delimiter, prefixBytes }: CsvHeader, nulls: readonly string[]) {
    this.#shape = new CsvShape({ delimiter, columns: names.length, nulls });
    this.#finished = this.#read(file, prefixBytes);
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
    return this.#shape.blankLines > 0;
  }

  /** Stops reading. Resolves when the file is free. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#finished.catch(() => {});
  }

  async #read(file: FileBytes, prefixBytes: number): Promise<void> {
    let skipped = prefixBytes;
    let isFirst = true;
    for await (const chunk of await decompress(file)) {
      if (this.#stop.signal.aborted) return;
      const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
      if (hasMark) skipped += 3;
      isFirst = false;
      const bytes = chunk.subarray(Math.min(skipped, chunk.byteLength));
      skipped -= chunk.byteLength - bytes.byteLength;
      this.#shape.read(bytes);
      this.#assertGood();
      this.#resolveWaiter();
    }
    this.#shape.end();
    this.#assertGood();
  }

  #assertGood(): void {
    if (!this.#shape.isGood) throw new FileProblem(null, 'it is not CSV that an import would accept');
  }

  #resolveWaiter(): void {
    if (this.#waiter !== null && this.#shape.records >= this.#waiter.records) this.#waiter.resolve();
  }
}
