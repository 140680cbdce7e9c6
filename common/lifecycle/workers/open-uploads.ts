/** Uploads of one worker that are remembered; of more, the janitor finds what a crash leaves. */
const mostUploads = 100_000;

/** What a worker tells of its uploads, by object key. */
export interface UploadNews {
  readonly begun: readonly string[];
  readonly ended: readonly string[];
}

/** The object keys of uploads that a worker has begun and not ended. */
export class OpenUploads {
  readonly #keys = new Set<string>();

  get size(): number {
    return this.#keys.size;
  }

  note({ begun, ended }: UploadNews): void {
    for (const key of ended) this.#keys.delete(key);
    for (const key of begun) {
      if (this.#keys.size < mostUploads) this.#keys.add(key);
    }
  }

  get keys(): readonly string[] {
    return [...this.#keys];
  }

  /** All of them, which are forgotten here. */
  take(): string[] {
    const keys = [...this.#keys];
    this.#keys.clear();
    return keys;
  }
}
