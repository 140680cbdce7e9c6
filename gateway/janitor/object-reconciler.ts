import type { Log } from '#kernel/log/log.ts';
import { nameOf, readCheckKey, readFileKey } from '#objects/file-key.ts';
import type { ObjectInfo, ObjectStore } from '#objects/object-store.ts';
import { readVariantKey } from '../images/variant-key.ts';
import { type AdoptDeps, adoptObject } from './adopt-object.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface ObjectReconcilerDeps extends AdoptDeps {
  readonly store: AdoptDeps['store'] & Pick<ObjectStore, 'list' | 'delete' | 'deleteAll'>;
  readonly log: Log;
  /** Age in milliseconds below which an object without a row is ignored. */
  readonly grace: number;
  /** Most objects that a scheduled run examines. */
  readonly objectsPerRun: number;
  /** Aborted when the process stops: a walk outlasts a run. */
  readonly signal: AbortSignal;
}

/** Objects looked up by one statement. */
const batchSize = 1000;

/**
 * Makes missing rows for objects of this deployment, and removes objects that an interrupted store check left. Each
 * scheduled run continues where the last one stopped.
 */
export class ObjectReconciler {
  readonly #deps: ObjectReconcilerDeps;
  #walk: AsyncIterator<ObjectInfo> | null = null;

  constructor(deps: ObjectReconcilerDeps) {
    this.#deps = deps;
  }

  /** @param deployment its id */
  async run(deployment: string, run: JanitorRun): Promise<void> {
    const limit = Date.now() - this.#deps.grace;
    let batch: string[] = [];
    let variants: string[] = [];
    for await (const { key, lastModified } of this.#objects(deployment, run)) {
      run.report.objectsSeen++;
      if (lastModified.getTime() > limit) continue;
      if (readFileKey(key) !== null) batch.push(key);
      else if (readVariantKey(key) !== null) variants.push(key);
      else if (readCheckKey(key) !== null && !run.dryRun) {
        await run.attempt('remove the object of a check', () => this.#deps.store.delete(key, run.signal));
      }
      if (variants.length === batchSize) {
        await this.#removeVariants(variants, run);
        variants = [];
      }
      if (batch.length < batchSize) continue;
      await this.#adoptAll(batch, run);
      batch = [];
    }
    await this.#adoptAll(batch, run);
    await this.#removeVariants(variants, run);
  }

  /** Releases the resources of an unfinished walk. */
  async close(): Promise<void> {
    await this.#walk?.return?.().catch(() => {});
    this.#walk = null;
  }

  async *#objects(deployment: string, { whole, signal, report }: JanitorRun): AsyncGenerator<ObjectInfo> {
    const list = (until: AbortSignal) => this.#deps.store.list(`${deployment}/`, until);
    if (whole) {
      yield* list(signal);
      return;
    }
    this.#walk ??= list(this.#deps.signal)[Symbol.asyncIterator]();
    for (let seen = 0; seen < this.#deps.objectsPerRun; seen++) {
      signal.throwIfAborted();
      const next = await this.#walk.next().catch((error: unknown) => {
        this.#walk = null;
        throw error;
      });
      if (next.done === true) {
        this.#walk = null;
        return;
      }
      yield next.value;
    }
    report.objectsGoOn = true;
  }

  /** Removes the pictures of files that are gone. */
  async #removeVariants(keys: readonly string[], run: JanitorRun): Promise<void> {
    const { cloudFiles, store } = this.#deps;
    if (keys.length === 0) return;
    const nameOfFile = (key: string): string => readVariantKey(key)?.name ?? '';
    await run.attempt('remove pictures of deleted files', async () => {
      const withRow = await cloudFiles.namesWithRow([...new Set(keys.map(nameOfFile))], run.signal);
      const left = keys.filter((key) => !withRow.has(nameOfFile(key)));
      if (!run.dryRun && left.length > 0) await store.deleteAll(left, run.signal);
      run.report.picturesRemoved += left.length;
    });
  }

  async #adoptAll(keys: readonly string[], run: JanitorRun): Promise<void> {
    const { cloudFiles, log } = this.#deps;
    const { report, dryRun, signal } = run;
    if (keys.length === 0) return;
    await run.attempt('look up rows', async () => {
      const withRow = await cloudFiles.namesWithRow(keys.map(nameOf), signal);
      for (const key of keys) {
        if (withRow.has(nameOf(key))) continue;
        await run.attempt('make the row of an object', async () => {
          const done = await adoptObject(this.#deps, key, { dryRun, signal });
          if (done === 'row made') report.rowsMade++;
          if (done !== 'object left') return;
          if (report.objectsLeft++ === 0)
            log.warn({ key }, 'an object has neither a row nor metadata for one');
        });
      }
    });
  }
}
