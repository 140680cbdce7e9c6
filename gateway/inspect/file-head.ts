import { type Asked, type FirstBytes, type Inspected, inspectBytes } from './inspect-bytes.ts';

/** Fewer bytes than this do not tell the type of a file that goes on. */
export const leastBytes = 64 * 1024;

/** The part of an object that is in memory. */
interface GatheredPart {
  readonly chunks: readonly Uint8Array[];
  readonly size: number;
}

/**
 * The beginning of a file while it is received. It keeps no bytes: what they tell is read while the first part is in
 * memory. Only where that part is short, because memory is, the first 64 KiB are copied.
 */
export class FileHead {
  /** The first part, until it is inspected. */
  #bytes: FirstBytes | null = null;
  /** Copies of the first bytes, if the first part is short. */
  readonly #copies: Uint8Array[] = [];
  #copied = 0;
  #isWhole = false;
  #state: 'before' | 'short' | 'known' = 'before';
  #dropped: Error | null = null;
  #arrived: (() => void) | null = null;
  #inspected: Promise<Inspected> | null = null;

  /** The next part of the object. Its memory may be reused once the store has it. */
  add({ chunks, size }: GatheredPart, isLast: boolean): void {
    if (this.#state === 'known') return;
    if (this.#state === 'before') this.#bytes = { chunks, isWhole: isLast };
    if (this.#state === 'before' && (isLast || size >= leastBytes)) this.#state = 'known';
    else this.#copy(chunks, isLast);
    this.#arrived?.();
  }

  /** Whether enough has come that more bytes can't change the type. */
  get isKnown(): boolean {
    return this.#state === 'known';
  }

  /** No more bytes come. */
  drop(reason: Error): void {
    this.#dropped = reason;
    this.#arrived?.();
  }

  /**
   * What the first part tells: call it once, before the store gets the part. Rejects when the upload is given up.
   */
  async first(asks: Asked): Promise<Inspected> {
    if (this.#bytes === null && this.#dropped === null)
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    if (this.#dropped !== null) throw this.#dropped;
    const inspected = Promise.resolve(inspectBytes(this.#bytes as FirstBytes, asks));
    if (this.#copies.length === 0) this.#inspected = inspected;
    this.#bytes = null;
    return inspected;
  }

  /** What the file tells, once all of it has arrived. */
  last(asks: Asked): Promise<Inspected> {
    this.#inspected ??= Promise.resolve(
      inspectBytes({ chunks: [Buffer.concat(this.#copies)], isWhole: this.#isWhole }, asks),
    );
    return this.#inspected;
  }

  #copy(chunks: readonly Uint8Array[], isLast: boolean): void {
    this.#state = 'short';
    let isCut = false;
    for (const chunk of chunks) {
      const some = Uint8Array.from(chunk.subarray(0, leastBytes - this.#copied));
      this.#copies.push(some);
      this.#copied += some.byteLength;
      isCut ||= some.byteLength < chunk.byteLength;
    }
    this.#isWhole = isLast && !isCut;
    if (isLast || this.#copied === leastBytes) this.#state = 'known';
  }
}
