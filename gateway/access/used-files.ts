import { randomUUID } from 'node:crypto';
import type { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import type { FilesPlace, PlacedFile } from '#catalogue/file-uses/file-use.ts';
import type { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { findOwnFile } from '../catalogue/own-file.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import { eraseFiles } from './erase-files.ts';
import type { FileTrash } from './file-trash.ts';
import type { Quota } from './storage-quota.ts';

interface UsedFilesParts {
  readonly uses: Pick<FileUses, 'inUse' | 'drop'>;
  readonly marks: FileMarks;
  readonly cloudFiles: Pick<CloudFiles, 'findByName' | 'remove'>;
  readonly trash: Pick<FileTrash, 'takes' | 'put'>;
  readonly store: Pick<ObjectStore, 'deleteAll'>;
  readonly quota: Pick<Quota, 'freed'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Files that a request wants to delete. Meanwhile no record gets them. */
export interface HeldFiles {
  /** Those that records name. */
  readonly inUse: ReadonlySet<string>;
  /** Some files were not deleted: records may name them again. */
  release(names: readonly string[]): Promise<void>;
  /** Files were deleted, with their rows: a record that names one need not wait for the outcome. */
  deleted(names: readonly string[]): void;
}

/** Milliseconds between looks for files that records no longer name, and of the deletion of some of them. */
const every = 60_000;
const deletionDeadline = 30_000;
const filesAtOnce = 500;
/** Files that requests deleted and that are noted later; marks of more end by themselves. */
const mostDeleted = 10_000;

/** Files that records name (docs/decisions/074-a-file-field.md). */
export class UsedFiles {
  readonly #parts: UsedFilesParts;
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Files that requests deleted, and the tokens of their marks. */
  #deleted: (PlacedFile & { readonly token: string })[] = [];
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: UsedFilesParts) {
    this.#parts = parts;
  }

  async hold(place: FilesPlace, names: readonly string[], signal: AbortSignal): Promise<HeldFiles> {
    if (names.length === 0) return { inUse: new Set(), release: async () => {}, deleted() {} };
    const { uses, marks } = this.#parts;
    const token = randomUUID();
    // marked first: a write that has not noted its use by now finds the mark
    const marked = names.map((name) => ({ place, name }));
    await marks.mark(marked, token, signal);
    const release = async (some: readonly string[]): Promise<void> => {
      if (some.length > 0) await marks.unmark(some, token, AbortSignal.timeout(deletionDeadline));
    };
    try {
      const found = await uses.inUse(place, names, signal);
      // uses that have ended without a trace, such as those of a process that died, are found and removed
      if (found.size > 0) await uses.drop(place, [...found.values()].flat(), signal);
      await release([...found.keys()]);
      const deleted = (some: readonly string[]): void => {
        if (this.#deleted.length < mostDeleted)
          this.#deleted.push(...some.map((name) => ({ place, name, token })));
        this.deleteCondemned();
      };
      return { inUse: new Set(found.keys()), release, deleted };
    } catch (error) {
      await release(names).catch(() => {});
      throw error;
    }
  }

  start(): void {
    this.deleteCondemned();
    this.#timer = setInterval(this.deleteCondemned, every).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort(new Error('the server stops'));
    await this.#running;
  }

  /** Resolves when what was begun has ended. */
  idle(): Promise<void> {
    return this.#running;
  }

  /** Begins to delete the files that no record names any more. Calls during a run share the next one. */
  readonly deleteCondemned = (): void => {
    if (this.#isScheduled || this.#closing.signal.aborted) return;
    this.#isScheduled = true;
    this.#running = this.#running.then(async () => {
      this.#isScheduled = false;
      try {
        await this.#deleteAll();
      } catch (error) {
        if (!this.#closing.signal.aborted)
          this.#parts.log.warn({ err: error }, 'files that no record names are deleted later');
      }
    });
  };

  async #deleteAll(): Promise<void> {
    const { marks } = this.#parts;
    while (this.#deleted.length > 0) {
      const files = this.#deleted.splice(0, filesAtOnce);
      const tokens = files.map(({ token }) => token);
      await marks.deleted(files, AbortSignal.timeout(deletionDeadline), tokens);
    }
    const { signal } = this.#closing;
    while (await withDeadline(signal, deletionDeadline, (attempt) => this.#deleteNext(attempt.signal)));
  }

  /** Resolves with whether there may be more. */
  async #deleteNext(signal: AbortSignal): Promise<boolean> {
    const { marks } = this.#parts;
    const some = await marks.condemned(filesAtOnce, signal);
    if (some.length === 0) return false;
    const deleted = await this.#deleteSome(some, signal);
    await marks.deleted(deleted, signal);
    if (deleted.length < some.length) throw new Error('the object store did not delete all of the files');
    return some.length === filesAtOnce;
  }

  /** Puts files in the trash, or deletes objects, then rows, like DELETE. Files without a row are deleted already. */
  async #deleteSome(some: readonly PlacedFile[], signal: AbortSignal): Promise<readonly PlacedFile[]> {
    const { cloudFiles, plans, trash } = this.#parts;
    const named = some.map(({ place, name }) => ({ ownerId: place.ownerId, projectSlug: place.slug, name }));
    const files = await Promise.all(named.map((one) => findOwnFile(cloudFiles, one, signal)));
    await plans.closeFor(named, signal);
    const there = files.filter((file) => file !== null);
    const kept = new Set(there.filter((file) => trash.takes(file)));
    await trash.put([...kept], signal);
    const erased = there.filter((file) => !kept.has(file));
    const left = new Set((await eraseFiles(this.#parts, erased, signal)).left.map(({ name }) => name));
    return some.filter(({ name }) => !left.has(name));
  }
}
