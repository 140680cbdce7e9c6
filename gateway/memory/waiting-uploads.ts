/** By what the line of an upload is chosen. */
interface WaitingUpload {
  readonly slow: boolean;
  readonly begun: boolean;
  readonly needsNoMore: boolean;
}

/**
 * Uploads of one account that wait for memory, in three lines, round robin; in a line who asked first comes first: a
 * Set iterates in the order of insertion, and to join and to leave takes constant time.
 */
export class WaitingUploads<Upload extends WaitingUpload> {
  /** Uploads that have begun, and those whose bytes all fit into what they ask for. */
  readonly #begun = new Set<Upload>();
  /** Uploads that would begin, and come back for more. */
  readonly #new = new Set<Upload>();
  readonly #slow = new Set<Upload>();
  /** The line that went on last comes last. */
  #lines = [this.#begun, this.#new, this.#slow];

  get size(): number {
    return this.fastSize + this.#slow.size;
  }

  /** Those that are not known to be slow. */
  get fastSize(): number {
    return this.#begun.size + this.#new.size;
  }

  /** @returns the line in which it waits */
  add(upload: Upload): Set<Upload> {
    const begun = upload.begun || upload.needsNoMore ? this.#begun : this.#new;
    return (upload.slow ? this.#slow : begun).add(upload);
  }

  next(may: (upload: Upload) => boolean): Upload | undefined {
    for (const [first] of this.#lines) if (first !== undefined && may(first)) return first;
    return undefined;
  }

  /** Tells that the first of a line goes on. */
  served(line: Set<Upload>): void {
    this.#lines = [...this.#lines.filter((other) => other !== line), line];
  }
}
