import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface WantedDigests {
  readonly crc32: boolean;
  readonly md5: boolean;
  readonly sha256: boolean;
}

/** Runs only the digests that are wanted: each costs per byte. */
export class BodyDigests {
  #crc32: number | null;
  readonly #md5: Hash | null;
  readonly #sha256: Hash | null;

  constructor(wanted: WantedDigests) {
    this.#crc32 = wanted.crc32 ? 0 : null;
    this.#md5 = wanted.md5 ? createHash('md5') : null;
    this.#sha256 = wanted.sha256 ? createHash('sha256') : null;
  }

  update(chunk: Buffer): void {
    if (this.#crc32 !== null) this.#crc32 = crc32(chunk, this.#crc32);
    this.#md5?.update(chunk);
    this.#sha256?.update(chunk);
  }

  finish(): { crc32: number | null; md5: Buffer | null; sha256: string | null } {
    return {
      crc32: this.#crc32,
      md5: this.#md5?.digest() ?? null,
      sha256: this.#sha256?.digest('hex') ?? null,
    };
  }
}
