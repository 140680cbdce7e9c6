import { FileProblem } from '../imports/formats/file-problem.ts';
import { decompressed, type FileBytes } from '../imports/formats/file-text.ts';
import { CsvShape } from './csv-shape.ts';
import type { CsvHeader } from './csv-table.ts';

/** Reads CSV beside the engine, and finds what an import would refuse and the engine does not. */
export class CsvCheck {
  readonly #shape: CsvShape;
  readonly #stop = new AbortController();
  readonly #whole: Promise<void>;
  #waiting: { readonly records: number; readonly resolve: () => void } | null = null;

  constructor(file: FileBytes, { names, delimiter, prefixBytes }: CsvHeader, nulls: readonly string[]) {
    this.#shape = new CsvShape({ delimiter, columns: names.length, nulls });
    this.#whole = this.#read(file, prefixBytes);
    // nobody may be waiting
    this.#whole.catch(() => {});
  }

  /** Rejects with a FileProblem. @param rows that are looked at; Infinity: all */
  async covers(rows: number): Promise<void> {
    // beside the header
    const enough = new Promise<void>((resolve) => {
      this.#waiting = { records: rows + 1, resolve };
      this.#tell();
    });
    await Promise.race([this.#whole, enough]);
  }

  get hasBlankLines(): boolean {
    return this.#shape.blankLines > 0;
  }

  /** Resolves when nothing is read any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#whole.catch(() => {});
  }

  async #read(file: FileBytes, prefixBytes: number): Promise<void> {
    let skipped = prefixBytes;
    let isFirst = true;
    for await (const chunk of await decompressed(file)) {
      if (this.#stop.signal.aborted) return;
      const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
      if (hasMark) skipped += 3;
      isFirst = false;
      const bytes = chunk.subarray(Math.min(skipped, chunk.byteLength));
      skipped -= chunk.byteLength - bytes.byteLength;
      this.#shape.read(bytes);
      this.#assertGood();
      this.#tell();
    }
    this.#shape.end();
    this.#assertGood();
  }

  #assertGood(): void {
    if (!this.#shape.isGood) throw new FileProblem(null, 'it is no CSV that an import reads');
  }

  #tell(): void {
    if (this.#waiting !== null && this.#shape.records >= this.#waiting.records) this.#waiting.resolve();
  }
}
