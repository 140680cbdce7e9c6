import { constants, existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import { combineCrc32 } from '../crc32-combine.ts';
import type { ObjectDescription } from '../object-description.ts';
import type { Part, ResumableWriter, WrittenBytes } from '../object-store.ts';
import { type FileSystemLayout, undescribed } from './file-system-layout.ts';

/** IOV_MAX of Linux and macOS: the most buffers of one pwritev(2). */
const maxVectors = 1024;

/** Writes one object into a temporary file that becomes the object by an atomic rename. */
export class FileSystemWriter implements ResumableWriter {
  readonly #target: WriteTarget;
  readonly #path: string;
  readonly #file: FileHandle;
  /** The file survives a failure, and the process. */
  readonly #resumable: boolean;
  #position: number;
  /** CRC-32 of whole parts. */
  #crc32: number;
  #size: number;
  #written: Promise<void> = Promise.resolve();
  #state: 'open' | 'completing' | 'complete' | 'failed' = 'open';
  #aborting: Promise<void> | null = null;
  /** Written bytes are not yet safe from a power cut. */
  #closeError: Error | null = null;

  private constructor(
    target: WriteTarget,
    { path, file, before }: { path: string; file: FileHandle; before?: Pick<WrittenBytes, 'size' | 'crc32'> },
  ) {
    this.#target = target;
    this.#path = path;
    this.#file = file;
    this.#resumable = before !== undefined;
    this.#position = before?.size ?? 0;
    this.#size = before?.size ?? 0;
    this.#crc32 = before?.crc32 ?? 0;
  }

  static async open(target: WriteTarget): Promise<FileSystemWriter> {
    target.signal.throwIfAborted();
    // throws on a bad key before a file exists
    target.layout.objectPath(target.key);
    const path = target.layout.newTemporaryPath(target.key);
    const file = await open(path, 'wx', 0o600);
    return new FileSystemWriter(target, { path, file });
  }

  static async resume(target: WriteTarget, written: WrittenBytes | null): Promise<FileSystemWriter> {
    target.signal.throwIfAborted();
    const path = target.layout.unfinishedPath(target.key);
    const before = written ?? { size: 0, crc32: 0 };
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      // drops bytes that were never acknowledged: they will be written again
      const { size } = await file.stat();
      if (size < before.size) throw new Error(`${before.size - size} bytes of an unfinished object are gone`);
      await file.truncate(before.size);
      if (written === null) await syncDirectory(dirname(path));
    } catch (error) {
      await file.close();
      throw error;
    }
    return new FileSystemWriter(target, { path, file, before });
  }

  async written(): Promise<WrittenBytes> {
    await this.#written.catch(() => {});
    const written = { size: this.#size, crc32: this.#crc32, place: null };
    if (this.#state === 'open') await this.#file.datasync();
    if (this.#closeError !== null) throw this.#closeError;
    return written;
  }

  async suspend(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    await this.#written.catch(() => {});
    await this.#closeFile().catch((error: Error) => {
      this.#closeError = error;
    });
  }

  async writePart(part: Part): Promise<void> {
    if (this.#state !== 'open') throw new Error('the object is not open for writing');
    await this.#append(part);
  }

  async complete(last: Part): Promise<void> {
    if (this.#state !== 'open') throw new Error('the object is not open for writing');
    this.#state = 'completing';
    const { layout, key, description, signal } = this.#target;
    const { directories } = layout;
    const object = layout.objectPath(key);
    const meta = layout.metaPath(key);
    let described = false;
    let visible = false;
    try {
      await directories.make(dirname(meta));
      await directories.make(dirname(object));
      // the description is durable before the object is visible, so that every object has one
      await allDone([
        this.#append(last).then(() => this.#closeFile()),
        this.#writeMeta(meta).then(() => {
          described = true;
        }),
      ]);
      signal.throwIfAborted();
      await rename(this.#path, object);
      visible = true;
      await syncDirectory(dirname(object));
      this.#state = 'complete';
    } catch (error) {
      this.#state = 'failed';
      directories.forget(dirname(meta));
      directories.forget(dirname(object));
      if (visible && !this.#resumable && description.replaces !== true) await removeQuietly(object);
      if (described && !existsSync(object)) await removeQuietly(meta);
      if (this.#resumable) {
        this.#closeError ??= error as Error;
        await this.#file.close().catch(() => {});
      } else await this.abort();
      throw error;
    }
  }

  abort(): Promise<void> {
    if (this.#state === 'complete' || this.#state === 'completing') return Promise.resolve();
    this.#state = 'failed';
    this.#aborting ??= this.#drop();
    return this.#aborting;
  }

  /** Appends a part, in the order of the calls. */
  #append(part: Part): Promise<void> {
    const written = this.#written.then(() => this.#write(part));
    this.#written = written;
    // the failure also rejects the next write in the chain
    written.catch(() => {});
    return written;
  }

  async #write({ chunks, size, crc32 }: Part): Promise<void> {
    if (this.#state === 'failed') throw new Error('the object was aborted');
    this.#target.signal.throwIfAborted();
    let rest = chunks.filter((chunk) => chunk.byteLength > 0);
    while (rest.length > 0) {
      const { bytesWritten } = await this.#file.writev(rest.slice(0, maxVectors), this.#position);
      if (bytesWritten === 0) throw new Error('the file system wrote no byte');
      this.#position += bytesWritten;
      // pwritev(2) may write less than it was given
      rest = afterBytes(rest, bytesWritten);
      this.#target.signal.throwIfAborted();
    }
    this.#size += size;
    if (this.#resumable) this.#crc32 = combineCrc32(this.#crc32, crc32, size);
  }

  async #drop(): Promise<void> {
    // close waits for a running write
    await this.#file.close().catch(() => {});
    await removeQuietly(this.#path);
  }

  async #closeFile(): Promise<void> {
    await this.#file.sync();
    await this.#file.close();
  }

  async #writeMeta(path: string): Promise<void> {
    const { layout, key, description } = this.#target;
    const { contentType, metadata } = description;
    if (contentType === undescribed.contentType && Object.keys(metadata).length === 0) {
      await rm(path, { force: true });
      return;
    }
    const temporary = layout.newTemporaryPath(key);
    try {
      await writeFile(temporary, JSON.stringify({ contentType, metadata }), {
        flag: 'wx',
        mode: 0o600,
        flush: true,
      });
      await rename(temporary, path);
    } catch (error) {
      await removeQuietly(temporary);
      throw error;
    }
    await syncDirectory(dirname(path));
  }
}

export interface WriteTarget {
  readonly layout: FileSystemLayout;
  readonly key: string;
  readonly description: ObjectDescription;
  readonly signal: AbortSignal;
}

/** The chunks after this many bytes. */
function afterBytes(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  const rest = [...chunks];
  let done = bytes;
  for (let first = rest[0]; first !== undefined && done > 0; first = rest[0]) {
    if (first.byteLength > done) {
      rest[0] = first.subarray(done);
      break;
    }
    done -= first.byteLength;
    rest.shift();
  }
  return rest;
}

/** Waits for all of them even if one fails, so that none keeps running. */
async function allDone(work: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

async function removeQuietly(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
