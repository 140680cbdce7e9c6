import type { PackedRecords } from './packed-records.ts';
import { endOfRow, idSpan, type Span } from './packed-row.ts';

/** Ids of records that may be written meanwhile; of more the rest is not kept. */
const mostWritten = 100_000;

/**
 * Records of one space that come from the table one after the other, to be kept. One that is written meanwhile is left out:
 * what comes of it may be older than the write.
 */
export class RecordLoad {
  readonly #packed: PackedRecords;
  readonly #spaceId: string;
  readonly #unique: readonly string[];
  readonly #onEnd: () => void;
  readonly #written = new Set<string>();
  readonly #ended = new AbortController();
  readonly #span: Span = { start: 0, end: 0 };
  /** Records that were not known before. */
  kept = 0;
  /** Whether there was no room for a record. */
  full = false;

  constructor(packed: PackedRecords, spaceId: string, unique: readonly string[], onEnd: () => void) {
    this.#packed = packed;
    this.#spaceId = spaceId;
    this.#unique = unique;
    this.#onEnd = onEnd;
  }

  /** Aborted when nothing is kept any more. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  written(id: string): void {
    this.#written.add(id);
    if (this.#written.size > mostWritten) this.end();
  }

  /**
   * Keeps the rows, which are in the form of `packed-row.ts`. Ends the load when there is no room for one.
   * @returns where the last whole row ends
   */
  add(rows: Buffer): number {
    let start = 0;
    for (let end = endOfRow(rows, start); !Number.isNaN(end); end = endOfRow(rows, start)) {
      if (this.signal.aborted) break;
      this.#keep(rows, start, end);
      start = end;
    }
    return start;
  }

  end(): void {
    if (this.signal.aborted) return;
    this.#ended.abort(new Error('the records are not kept any more'));
    this.#onEnd();
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    idSpan(bytes, start, this.#span);
    const id = bytes.toString('utf8', this.#span.start, this.#span.end);
    if (this.#written.has(id) || this.#packed.has(this.#spaceId, id)) return;
    if (end - start > this.#packed.largest) return;
    if (this.#packed.addPacked(this.#spaceId, { bytes, start, end }, this.#unique, 0, true)) {
      this.kept++;
      return;
    }
    this.full = true;
    this.end();
  }
}
