/** The fields that choose the line of an upload. */
interface WaitingUpload {
  readonly slow: boolean;
  readonly begun: boolean;
  readonly needsNoMore: boolean;
}

/**
 * Uploads of one account that wait for memory: three FIFO queues, served round robin. Each is a Set, which iterates in
 * the order of insertion; joining and leaving take constant time.
 */
export class WaitingUploads<Upload extends WaitingUpload> {
  /** Uploads that have begun, and those that ask for room for all their bytes. */
  readonly #begun = new Set<Upload>();
  /** Uploads that have yet to begin, and will come back for more. */
  readonly #new = new Set<Upload>();
  readonly #slow = new Set<Upload>();
  /** The line that was served last comes last. */
  #lines = [this.#begun, this.#new, this.#slow];

  get size(): number {
    return this.fastSize + this.#slow.size;
  }

  /** Uploads that are not known to be slow. */
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

  /** Moves a line behind the others, as its first upload continues. */
  served(line: Set<Upload>): void {
    this.#lines = [...this.#lines.filter((other) => other !== line), line];
  }
}
