import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  type FileHandle,
  link,
  open,
  opendir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileSystemPartBytes } from '#kernel/config/file-system-part.ts';
import { DurableDirectories, syncDirectory } from '#kernel/durable-files/durable-directories.ts';
import type { ObjectDescription } from '../object-description.ts';
import { assertKeyPrefix } from '../object-key.ts';
import type { ByteRange, ObjectInfo, ObjectStore, OpenUpload } from '../object-store.ts';
import { FileSystemLayout, undescribed } from './file-system-layout.ts';
import { FileSystemWriter } from './file-system-writer.ts';

const readBytes = 256 * 1024;
/** A temporary file without writes for this long belongs to a dead process. Milliseconds. */
const leftoverAge = 60 * 60 * 1000;

/**
 * Stores objects as files below `root`, which several processes may share: `objects/<key>` has the bytes,
 * `meta/<key>.json` the description, `tmp/` files being written, `unfinished/` resumable objects.
 */
export async function createFileSystemStore({ root }: { root: string }): Promise<ObjectStore> {
  const absolute = resolve(root);
  const directories = await DurableDirectories.open(absolute);
  const layout = new FileSystemLayout(absolute, directories);
  await directories.make(layout.temporary);
  await directories.make(layout.unfinished);
  await directories.make(layout.objects);
  await removeLeftovers(layout.temporary);
  return {
    // a file is written sequentially
    concurrentParts: 1,
    shortParts: true,
    partBytes: () => fileSystemPartBytes,
    async create(key, description, signal) {
      return FileSystemWriter.open({ layout, key, description, signal });
    },
    async resume(key, description, written, signal) {
      return FileSystemWriter.resume({ layout, key, description, signal }, written);
    },
    async dropWritten(key, _written, signal) {
      signal.throwIfAborted();
      await rm(layout.unfinishedPath(key), { force: true });
    },
    async head(key, signal) {
      signal.throwIfAborted();
      const stats = await fileStats(layout.objectPath(key));
      if (stats === null) return null;
      const description = await readDescription(layout.metaPath(key));
      return { key, size: stats.size, lastModified: stats.mtime, ...description };
    },
    read(key, range, signal) {
      return readObject(layout.objectPath(key), range, signal);
    },
    async readWhole(key, maxBytes, signal) {
      signal.throwIfAborted();
      return readWholeFile(layout.objectPath(key), maxBytes);
    },
    async open(key, signal) {
      signal.throwIfAborted();
      return open(layout.objectPath(key), 'r');
    },
    pathOf: (key) => layout.objectPath(key),
    async delete(key, signal) {
      signal.throwIfAborted();
      await removeDurably(layout.objectPath(key));
      await removeDurably(layout.metaPath(key));
    },
    async deleteAll(keys, signal) {
      signal.throwIfAborted();
      const paths = keys.flatMap((key) => [layout.objectPath(key), layout.metaPath(key)]);
      for (const path of paths) await removeFile(path);
      // once for all its files
      for (const directory of new Set(paths.map(dirname)))
        await syncDirectory(directory).catch(unlessMissing);
      return [];
    },
    async deleteRemains(key, signal) {
      signal.throwIfAborted();
      await removeDescription(layout, key);
    },
    list(prefix, signal) {
      assertKeyPrefix(prefix);
      return listObjects(layout, prefix, signal);
    },
    listOpenUploads(signal) {
      return listTemporary(layout, signal);
    },
    async lastWrittenAt({ id }, signal) {
      signal.throwIfAborted();
      return (await fileStats(layout.temporaryPath(id)))?.mtime ?? null;
    },
    isUploadOf: ({ id }, key) => layout.isTemporaryOf(key, id),
    async abortUpload({ id }, signal) {
      signal.throwIfAborted();
      await rm(layout.temporaryPath(id), { force: true });
    },
    async ready(signal) {
      signal.throwIfAborted();
      if (!(await stat(layout.objects)).isDirectory())
        throw new Error(`${layout.objects} is not a directory`);
      const probe = join(layout.temporary, randomUUID());
      try {
        await writeFile(probe, 'ready', { flag: 'wx' });
      } finally {
        await rm(probe, { force: true });
      }
    },
    async close() {},
  };
}

async function removeLeftovers(directory: string): Promise<void> {
  const oldest = Date.now() - leftoverAge;
  for await (const entry of await opendir(directory)) {
    const path = join(directory, entry.name);
    const stats = await fileStats(path);
    if (stats !== null && stats.mtimeMs < oldest) await rm(path, { force: true });
  }
}

/** Null unless there is a plain file. */
async function fileStats(path: string): Promise<Stats | null> {
  try {
    const stats = await stat(path);
    return stats.isFile() ? stats : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function readDescription(path: string): Promise<ObjectDescription> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ObjectDescription;
  } catch (error) {
    // only the object itself decides whether it exists; it may be removed at this moment
    if (isMissing(error)) return undescribed;
    throw error;
  }
}

async function* readObject(
  path: string,
  range: ByteRange | null,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal.throwIfAborted();
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    let position = range === null ? 0 : range.start;
    const end = range === null ? size : range.end + 1;
    if (position > end || end > size)
      throw new RangeError(`bytes ${position}-${end - 1} of an object of ${size}`);
    while (position < end) {
      signal.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(readBytes, end - position));
      const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, position);
      if (bytesRead === 0) throw new Error('the object has become shorter');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function readWholeFile(path: string, maxBytes: number): Promise<Buffer | null> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw new RangeError(`an object of ${size} bytes is larger than ${maxBytes}`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Removes a file durably, if it exists. */
async function removeDurably(path: string): Promise<void> {
  if (await removeFile(path)) await syncDirectory(dirname(path));
}

/** @returns whether the file existed */
async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    unlessMissing(error);
    return false;
  }
}

function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/**
 * The objects, and then those that have a description alone: a process ended between the two files of a write or a
 * removal.
 */
async function* listObjects(
  layout: FileSystemLayout,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ObjectInfo, void, undefined> {
  // the deepest directory that holds every key with the prefix
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  for await (const key of walk(layout.objects, start)) {
    const stats = await fileStats(layout.objectPath(key));
    if (stats !== null) yield { key, size: stats.size, lastModified: stats.mtime };
  }
  for await (const path of walk(layout.descriptions, start)) {
    const key = layout.describedKey(path);
    if (key === null || !key.startsWith(prefix)) continue;
    const stats = await fileStats(layout.metaPath(key));
    if (stats !== null && (await fileStats(layout.objectPath(key))) === null)
      yield { key, size: 0, lastModified: stats.mtime };
  }

  /** Paths of files that start with the prefix, below the root. */
  async function* walk(root: string, folder: string): AsyncGenerator<string, void, undefined> {
    signal.throwIfAborted();
    for await (const entry of entries(join(root, folder))) {
      signal.throwIfAborted();
      const path = folder + entry.name;
      if (entry.isDirectory()) {
        if (`${path}/`.startsWith(prefix) || prefix.startsWith(`${path}/`)) yield* walk(root, `${path}/`);
      } else if (path.startsWith(prefix)) yield path;
    }
  }
}

/** Removes the description of an object that is not there, unless it is written at this moment. */
async function removeDescription(layout: FileSystemLayout, key: string): Promise<void> {
  const [meta, aside] = [layout.metaPath(key), layout.newTemporaryPath(key)];
  try {
    await rename(meta, aside);
  } catch (error) {
    unlessMissing(error);
    return;
  }
  // a writer describes its object before the object is there
  if ((await fileStats(layout.objectPath(key))) !== null)
    await link(aside, meta).catch((error: NodeJS.ErrnoException) => {
      // it has a newer one
      if (error.code !== 'EEXIST') throw error;
    });
  await removeFile(aside);
  await syncDirectory(dirname(meta));
}

/**
 * Files being written, and leftovers of a crash, except files that are dropped meanwhile. Other processes do not know the
 * key of such a file, because only its bytes are stored before it is complete.
 */
async function* listTemporary(
  layout: FileSystemLayout,
  signal: AbortSignal,
): AsyncGenerator<OpenUpload, void, undefined> {
  signal.throwIfAborted();
  for await (const { name } of await opendir(layout.temporary)) {
    signal.throwIfAborted();
    const stats = await fileStats(layout.temporaryPath(name));
    if (stats !== null) yield { key: '', id: name, since: stats.mtime };
  }
}

async function* entries(directory: string) {
  try {
    yield* await opendir(directory);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
