/** The fields that decide on the queue of an upload. */
export interface QueuedUpload {
  readonly slow: boolean;
  readonly begun: boolean;
  readonly needsNoMore: boolean;
}

/**
 * Uploads of one account that wait for memory: three FIFO queues, served round robin. Each is a Set, which iterates in
 * insertion order and adds and deletes in constant time.
 */
export class UploadQueues<Upload extends QueuedUpload> {
  /** Uploads that have begun, and uploads that ask for room for all their bytes. */
  readonly #begun = new Set<Upload>();
  /** Uploads that have yet to begin, and will ask for more. */
  readonly #new = new Set<Upload>();
  readonly #slow = new Set<Upload>();
  /** The queue that was served last comes last. */
  #queues = [this.#begun, this.#new, this.#slow];

  get size(): number {
    return this.fastSize + this.#slow.size;
  }

  /** Number of uploads not known to be slow. */
  get fastSize(): number {
    return this.#begun.size + this.#new.size;
  }

  /** @returns the queue in which it waits */
  add(upload: Upload): Set<Upload> {
    const begun = upload.begun || upload.needsNoMore ? this.#begun : this.#new;
    return (upload.slow ? this.#slow : begun).add(upload);
  }

  next(may: (upload: Upload) => boolean): Upload | undefined {
    for (const [first] of this.#queues) if (first !== undefined && may(first)) return first;
    return undefined;
  }

  /** Moves a queue behind the others, as its first upload continues. */
  served(queue: Set<Upload>): void {
    this.#queues = [...this.#queues.filter((other) => other !== queue), queue];
  }
}
