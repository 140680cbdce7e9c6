import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { type ByteSource, type SpooledBody, spoolBody } from './spool-body.ts';

/** A file on the disk of the process. */
export interface ReceivedFile extends SpooledBody {
  /** Also the id of its job. */
  readonly id: string;
  readonly path: string;
}

export interface ReceivedFilesParts {
  readonly folder: string;
  readonly newId: () => string;
  /** Bytes that a file may have. */
  readonly mostBytes: number;
}

/** Unfinished imports of an account. */
const mostOfAccount = 10;

/** The files of imports. Each is kept until its import ends. */
export class ReceivedFiles {
  readonly #deps: ReceivedFilesParts;
  /** How many files are being received, by account. */
  readonly #receiving = new Map<string, number>();

  constructor(deps: ReceivedFilesParts) {
    this.#deps = deps;
  }

  /** Stores a file. Throws 503 when the account has too many imports. @param running its unfinished imports */
  async receive(ownerId: string, source: ByteSource, running: number): Promise<ReceivedFile> {
    const receiving = this.#receiving.get(ownerId) ?? 0;
    if (running + receiving >= mostOfAccount)
      throw overloaded(`the account has ${mostOfAccount} unfinished imports`);
    const { folder, newId, mostBytes } = this.#deps;
    const id = newId();
    const path = this.pathOf(id);
    this.#receiving.set(ownerId, receiving + 1);
    try {
      await mkdir(folder, { recursive: true });
      const { bytes, digest } = await spoolBody(source, path, mostBytes);
      return { id, path, bytes, digest };
    } finally {
      const left = (this.#receiving.get(ownerId) as number) - 1;
      if (left > 0) this.#receiving.set(ownerId, left);
      else this.#receiving.delete(ownerId);
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

  /** Drops files of requests that never got a job. @param jobIds of all jobs @param before milliseconds since 1970 */
  async dropOrphans(jobIds: readonly string[], before: number): Promise<void> {
    for (const id of await this.ids()) {
      if (jobIds.includes(id)) continue;
      const { mtimeMs } = await stat(this.pathOf(id));
      if (mtimeMs < before) await this.drop(id);
    }
  }

  /** Resolves when the names of the files are durable. */
  sync(): Promise<void> {
    return syncDirectory(this.#deps.folder);
  }

  async drop(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true });
  }
}
