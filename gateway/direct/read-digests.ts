import { createHash, type Hash } from 'node:crypto';
import { crc32c } from '#objects/crc32c.ts';
import type { DirectPlan } from '../plans/direct-plan.ts';

/** The digests of an object that is read, if it is, and how they differ from those of its plan. */
export class ReadDigests {
  readonly #plan: DirectPlan;
  readonly #sha256: Hash | null;
  #crc32c = 0;
  #digest: string | undefined;
  hasRead = false;

  /** @param hashes its SHA-256 is computed */
  constructor(plan: DirectPlan, hashes: boolean) {
    this.#plan = plan;
    this.#sha256 = hashes ? createHash('sha256') : null;
  }

  /** Reads nothing before the first chunk is taken. */
  async *of(read: () => AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    this.hasRead = true;
    for await (const chunk of read()) {
      this.#sha256?.update(chunk);
      if (this.#plan.crc32c !== undefined) this.#crc32c = crc32c(chunk, this.#crc32c);
      yield chunk;
    }
  }

  get sha256(): string | undefined {
    if (this.hasRead) this.#digest ??= this.#sha256?.digest('hex');
    return this.#digest;
  }

  /** Names of the planned digests that do not match; none if nothing was read. */
  wrong(sha256: string | undefined): string[] {
    if (!this.hasRead) return [];
    const { sha256: planned, crc32c: sum } = this.#plan;
    return [
      ...(planned !== undefined && planned !== sha256 ? ['sha256'] : []),
      ...(sum !== undefined && Buffer.from(sum, 'base64').readUInt32BE() !== this.#crc32c ? ['crc32c'] : []),
    ];
  }
}
