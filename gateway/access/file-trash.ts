import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { notFound, overloaded } from '#kernel/errors/catalogue.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { type CloudFile, isPublished } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';

interface FileTrashParts {
  readonly cloudFiles: Pick<CloudFiles, 'change' | 'namesWithRow'>;
  readonly store: Pick<ObjectStore, 'head'>;
  readonly marks: Pick<FileMarks, 'mark' | 'unmark' | 'emptied'>;
  /** 0: what is deleted is gone. */
  readonly days: number;
  readonly now?: () => number;
}

export const notInTrash = () => notFound('There is no such file in the trash');

/** How often a restore asks whether the janitor is about to delete the file, and the pause in between. Milliseconds. */
const decisions = { tries: 60, pause: 100 };

/** Keeps deleted files aside for some days (docs/decisions/087-expiry-and-trash.md). */
export class FileTrash {
  readonly #parts: FileTrashParts;

  constructor(parts: FileTrashParts) {
    this.#parts = parts;
  }

  /** Whether a deletion keeps a file: an expired or refused one can't be brought back, and one in the trash is there. */
  takes(file: CloudFile): boolean {
    return this.#parts.days > 0 && isPublished(file, this.#now());
  }

  /** From now on the files are not found. */
  async put(files: readonly Pick<CloudFile, 'name'>[], signal: AbortSignal): Promise<void> {
    if (files.length === 0) return;
    const names = files.map(({ name }) => name);
    await this.#parts.cloudFiles.change(names, { trashedAt: new Date(this.#now()) }, signal);
  }

  /**
   * Brings a file back. Throws 404 when its bytes or its row are gone meanwhile.
   *
   *   restore: takes the file out of the trash; reads the marks; waits while there is one
   *   janitor: writes a mark; reads whether the file is in the trash; deletes it only then
   *
   * So one of the two sees the other, in whatever processes they run.
   */
  async restore(
    { name, objectKey, trashedAt }: Pick<CloudFile, 'name' | 'objectKey' | 'trashedAt'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { cloudFiles, store } = this.#parts;
    // nothing is changed yet if a mark was left by a process that died
    await this.#untilDecided(name, signal);
    await cloudFiles.change([name], { trashedAt: null }, signal);
    const putBack = () => cloudFiles.change([name], { trashedAt: trashedAt ?? null }, signal);
    await this.#untilDecided(name, signal, putBack);
    const [object, rows] = await Promise.all([
      store.head(objectKey, signal),
      cloudFiles.namesWithRow([name], signal),
    ]);
    if (object !== null && rows.has(name)) return;
    await putBack();
    throw notInTrash();
  }

  /** Does what ends files in the trash while nobody restores them. */
  async emptying(
    files: readonly Pick<CloudFile, 'name' | 'ownerId' | 'projectSlug'>[],
    work: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { marks } = this.#parts;
    const token = randomUUID();
    const marked = files.map(({ name, ownerId, projectSlug: slug }) => ({ name, place: { ownerId, slug } }));
    await marks.mark(marked, token, signal, 'empty');
    try {
      await work();
    } finally {
      await marks.unmark(
        files.map(({ name }) => name),
        token,
        signal,
        'empty',
      );
    }
  }

  /** Throws 503 after a while. @param giveUp what to do then */
  async #untilDecided(name: string, signal: AbortSignal, giveUp?: () => Promise<void>): Promise<void> {
    for (let time = 0; time < decisions.tries; time++) {
      if (!(await this.#parts.marks.emptied([name], signal)).has(name)) return;
      await sleep(decisions.pause, undefined, { signal });
    }
    await giveUp?.();
    throw overloaded('the trash is being emptied');
  }

  #now(): number {
    return this.#parts.now?.() ?? Date.now();
  }
}
