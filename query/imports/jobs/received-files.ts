import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { type Source, type SpooledBody, spool } from './spool-body.ts';

/** A file on the disk of the process. */
export interface ReceivedFile extends SpooledBody {
  /** That of its job. */
  readonly id: string;
  readonly path: string;
}

export interface ReceivedFilesParts {
  readonly folder: string;
  readonly newId: () => string;
  /** Of a file. */
  readonly mostBytes: number;
}

/** Imports of an account that are not over. */
const mostOfAccount = 10;

/** The files of imports. Each is kept until its import is over. */
export class ReceivedFiles {
  readonly #deps: ReceivedFilesParts;
  /** Files of accounts that are being received. */
  readonly #coming = new Map<string, number>();

  constructor(deps: ReceivedFilesParts) {
    this.#deps = deps;
  }

  /** Stores a file. Throws 503 when the account has too many. @param running imports of the account that are not over */
  async receive(ownerId: string, source: Source, running: number): Promise<ReceivedFile> {
    const coming = this.#coming.get(ownerId) ?? 0;
    if (running + coming >= mostOfAccount)
      throw overloaded(`the account has ${mostOfAccount} imports that are not over`);
    const { folder, newId, mostBytes } = this.#deps;
    const id = newId();
    const path = this.pathOf(id);
    this.#coming.set(ownerId, coming + 1);
    try {
      await mkdir(folder, { recursive: true });
      return { id, path, ...(await spool(source, path, mostBytes)) };
    } finally {
      const left = (this.#coming.get(ownerId) as number) - 1;
      if (left > 0) this.#coming.set(ownerId, left);
      else this.#coming.delete(ownerId);
    }
  }

  pathOf(id: string): string {
    return join(this.#deps.folder, id);
  }

  has(id: string): boolean {
    return existsSync(this.pathOf(id));
  }

  /** Ids of all files. */
  async ids(): Promise<readonly string[]> {
    return readdir(this.#deps.folder).catch(() => []);
  }

  /** Drops files of requests that never got a job. @param known ids of jobs @param before milliseconds since 1970 */
  async dropLeft(known: readonly string[], before: number): Promise<void> {
    for (const id of await this.ids()) {
      if (known.includes(id)) continue;
      const { mtimeMs } = await stat(this.pathOf(id));
      if (mtimeMs < before) await this.drop(id);
    }
  }

  /** Resolves when a file will be found again whatever happens. */
  sync(): Promise<void> {
    return syncDirectory(this.#deps.folder);
  }

  async drop(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true });
  }
}
