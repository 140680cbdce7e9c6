/** Ids of stored records by their number, shared by all threads: a list of texts would be copied into each. */
export interface RecordIds {
  readonly bytes: SharedArrayBuffer;
  /** Characters of an id. */
  readonly length: number;
}

export class RecordIdsWriter {
  #buffer: Buffer | null = null;
  #length = 0;
  readonly #records: number;

  constructor(records: number) {
    this.#records = records;
  }

  /** Ids are ASCII, and all have the same length. */
  set(index: number, id: string): void {
    if (this.#buffer === null) {
      this.#length = id.length;
      this.#buffer = Buffer.from(new SharedArrayBuffer(this.#records * id.length));
    }
    if (id.length !== this.#length) throw new Error(`the id ${id} is not as long as those before it`);
    this.#buffer.write(id, index * this.#length, 'latin1');
  }

  get ids(): RecordIds {
    const bytes = (this.#buffer?.buffer ?? new SharedArrayBuffer(0)) as SharedArrayBuffer;
    return { bytes, length: this.#length };
  }
}

export const noIds: RecordIds = { bytes: new SharedArrayBuffer(0), length: 0 };

/** @returns the id of a record by its number */
export function idReader({ bytes, length }: RecordIds): (index: number) => string {
  const buffer = Buffer.from(bytes);
  return (index) => buffer.toString('latin1', index * length, (index + 1) * length);
}
