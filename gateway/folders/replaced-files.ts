import { withDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { keysAtOnce, type ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { PlanStore } from '../plans/plan-store.ts';

interface ReplacedFilesParts {
  readonly store: Pick<ObjectStore, 'deleteAll'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds. */
  readonly keptFor?: number;
}

interface Replaced {
  readonly file: CloudFile;
  /** By `performance.now()`. */
  readonly due: number;
}

/**
 * How long an object outlives its row. A reader may have found the row up to a second before it was removed, and reads
 * the object when it has a slot. Milliseconds.
 */
const usuallyKept = 5000;
const removalTimeout = 30_000;
/** Beyond this, objects are left to the janitor, which removes them because their path has a newer file. */
const mostWaiting = 100_000;

/** Removes the objects of replaced files, whose rows are gone, once nobody begins to read them. */
export class ReplacedFiles {
  readonly #parts: ReplacedFilesParts;
  readonly #keptFor: number;
  readonly #waiting: Replaced[] = [];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: ReplacedFilesParts) {
    this.#parts = parts;
    this.#keptFor = parts.keptFor ?? usuallyKept;
  }

  add(file: CloudFile): void {
    if (this.#waiting.length >= mostWaiting) return;
    this.#waiting.push({ file, due: performance.now() + this.#keptFor });
    this.#schedule();
  }

  /** Removes all at once: there are no readers any more. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
    await this.#removeUntil(Number.POSITIVE_INFINITY);
  }

  #schedule(): void {
    const [first] = this.#waiting;
    if (this.#timer !== undefined || first === undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#running = this.#removeUntil(performance.now()).finally(() => {
          this.#timer = undefined;
          this.#schedule();
        });
      },
      Math.max(0, first.due - performance.now()),
    ).unref();
  }

  async #removeUntil(now: number): Promise<void> {
    const later = this.#waiting.findIndex(({ due }) => due > now);
    const due = this.#waiting.splice(0, later === -1 ? this.#waiting.length : later);
    for (let at = 0; at < due.length; at += keysAtOnce)
      await this.#remove(due.slice(at, at + keysAtOnce).map(({ file }) => file));
  }

  async #remove(files: readonly CloudFile[]): Promise<void> {
    const { store, plans, log } = this.#parts;
    try {
      await withDeadline(undefined, removalTimeout, async ({ signal }) => {
        await plans.closeFor(files, signal);
        const left = await store.deleteAll(
          files.map(({ objectKey }) => objectKey),
          signal,
        );
        if (left.length > 0) throw new Error(`${left.length} objects were not deleted`);
      });
    } catch (err) {
      log.warn({ err, files: files.length }, 'objects of replaced files are left to the janitor');
    }
  }
}
