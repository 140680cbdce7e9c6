import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { checkKey } from '#objects/file-key.ts';
import type { ObjectStore } from '#objects/object-store.ts';

/** Time limit of the whole check: longer than the store's own attempts. Milliseconds. */
const checkTimeout = 60_000;
/** A failed check is repeated after this pause, on the next readiness probe. Milliseconds. */
const usualPause = 60_000;

export interface StoreCheckDeps {
  readonly store: Pick<ObjectStore, 'ready' | 'create' | 'delete' | 'partBytes' | 'shortParts'>;
  readonly deploymentId: string;
  /** An object's own address, if s3Links are such addresses; else null. */
  readonly publicUrl: ((key: string) => string) | null;
  readonly log: Pick<Log, 'warn'>;
  readonly pause?: number;
}

/**
 * Stores an object of two parts at the start, and logs what the store refuses: many servers answer HeadBucket and lack
 * the rest. The process serves in any case; /readyz keeps requests away until the store accepts such an object.
 */
export class StoreCheck {
  readonly #deps: StoreCheckDeps;
  #running: Promise<void> | null = null;
  #began = 0;
  #isDone = false;
  /** Why the last check failed. */
  #problem: StoreUnavailable | null = null;

  constructor(deps: StoreCheckDeps) {
    this.#deps = deps;
  }

  /** Resolves at the end of the check. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#check().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Rejects when the store can't take a write now, or failed its last check. Waits for a check under way. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#deps.store.ready(signal);
    const { pause = usualPause } = this.#deps;
    const isDue = !this.#isDone && this.#began > 0 && performance.now() - this.#began >= pause;
    if (isDue) void this.run();
    if (this.#problem === null && this.#running !== null) await untilAborted(this.#running, signal);
    if (this.#problem !== null) throw this.#problem;
  }

  async #check(): Promise<void> {
    const { store, log } = this.#deps;
    const signal = AbortSignal.timeout(checkTimeout);
    this.#began = performance.now();
    const before = this.#problem?.problem;
    try {
      await store.ready(signal);
    } catch (err) {
      // the store has already logged what its operator has to fix
      if (!isExplained(err)) log.warn({ err }, 'the object store failed its check');
      return;
    }
    try {
      await this.#store(signal);
      this.#problem = null;
      this.#isDone = true;
    } catch (err) {
      const { problem } = isExplained(err) ? err : {};
      this.#problem = isExplained(err) ? err : null;
      // the check is repeated: log each problem once
      if (problem === undefined || problem !== before)
        log.warn({ err }, problem ?? 'the object store failed its check');
    }
  }

  async #store(signal: AbortSignal): Promise<void> {
    const { store, deploymentId, publicUrl, log } = this.#deps;
    // in a file system parts are plain writes: there is nothing to refuse
    if (store.shortParts && publicUrl === null) return;
    const key = checkKey(deploymentId, randomUUID());
    const description = { contentType: 'application/octet-stream', metadata: {} };
    const writer = await store.create(key, description, signal);
    try {
      if (!store.shortParts)
        await writer.writePart(zeros(store.partBytes(0, Number.POSITIVE_INFINITY, true)));
      await writer.complete(zeros(1));
    } catch (error) {
      await writer.abort();
      throw error;
    }
    try {
      if (publicUrl !== null) await checkPublic(publicUrl(key), signal, log);
    } finally {
      await store.delete(key, signal).catch((err: unknown) => {
        log.warn({ err, key }, 'the object of the check could not be removed: the janitor will retry');
      });
    }
  }
}

/** Reads the object of the check: a missing one would be a 403 too, where listing is forbidden. */
async function checkPublic(url: string, signal: AbortSignal, log: StoreCheckDeps['log']): Promise<void> {
  const { status } = await fetch(url, { method: 'HEAD', signal });
  if (status !== 401 && status !== 403) return;
  log.warn({ status }, 'S3_PUBLIC_BUCKET is true, but the bucket is private: no s3Link can be read');
}

function zeros(size: number) {
  const bytes = Buffer.alloc(size);
  return { chunks: [bytes], size, crc32: crc32(bytes) };
}

function isExplained(error: unknown): error is StoreUnavailable & { readonly problem: string } {
  return error instanceof StoreUnavailable && error.problem !== undefined;
}
