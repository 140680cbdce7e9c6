import { randomInt } from 'node:crypto';

/** Most keys of one file, at up to 32 bytes each. With so many random keys, one file in 100,000 has two equal ones. */
export const mostKeys = 16_000_000;

/** A random seed of the hash, so that nobody can choose keys that collide. */
const salt = randomInt(2 ** 32);

/** A hash set of 64-bit keys, as pairs of words. It counts a pair of zeros as present. */
export class KeySet {
  #words = new Uint32Array(2 * 1024);
  #count = 0;

  /** False: the set already had the key. */
  add(low: number, high: number): boolean {
    if (low === 0 && high === 0) return false;
    if (this.#count * 4 >= this.#words.length) this.#grow();
    if (!insert(this.#words, low, high)) return false;
    this.#count++;
    return true;
  }

  get size(): number {
    return this.#count;
  }

  #grow(): void {
    const words = new Uint32Array(2 * this.#words.length);
    for (let at = 0; at < this.#words.length; at += 2) {
      const [low, high] = [this.#words[at] as number, this.#words[at + 1] as number];
      if (low !== 0 || high !== 0) insert(words, low, high);
    }
    this.#words = words;
  }
}

function insert(words: Uint32Array, low: number, high: number): boolean {
  const mask = words.length / 2 - 1;
  const mixed = Math.imul(low ^ salt, 0x9e3779b1) ^ Math.imul(high ^ salt, 0x85ebca6b);
  for (let slot = (mixed ^ (mixed >>> 15)) & mask; ; slot = (slot + 1) & mask) {
    const at = 2 * slot;
    if (words[at] === 0 && words[at + 1] === 0) {
      words[at] = low;
      words[at + 1] = high;
      return true;
    }
    if (words[at] === low && words[at + 1] === high) return false;
  }
}
