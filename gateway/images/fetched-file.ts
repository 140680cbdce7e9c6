import { access, constants, type FileHandle, open } from 'node:fs/promises';
import { invalidImage } from '#kernel/errors/catalogue.ts';
import type { ByteRange, ObjectStore } from '#objects/object-store.ts';

/** Largest picture that is read: 100 million pixels rarely take more. Bytes. */
export const mostPictureBytes = 128 * 1024 * 1024;

type Store = Pick<ObjectStore, 'read'>;

/**
 * The path of an object's file: the store's own, or a new one with a copy. A copy takes a hundred calls of the file system
 * for a photo, beside which other requests wait. Throws a 422 if the object is too large to be a picture.
 * @param path of the copy
 */
export async function localFile(
  store: Pick<ObjectStore, 'read' | 'pathOf'>,
  { objectKey, size }: { readonly objectKey: string; readonly size: number },
  path: string,
  signal: AbortSignal,
): Promise<string> {
  if (size > mostPictureBytes)
    throw invalidImage(`it has ${size} bytes, and the limit is ${mostPictureBytes}`);
  const own = store.pathOf?.(objectKey);
  if (own !== undefined) {
    // a missing object is no damaged picture
    await access(own, constants.R_OK);
    return own;
  }
  const file = await open(path, 'wx', 0o600);
  try {
    await copy(store.read(objectKey, null, signal), file, 0);
  } finally {
    await file.close();
  }
  return path;
}

/** A file of the length of an object that has only some ranges of its bytes, and takes no more space. */
export class SparseFile {
  readonly #file: FileHandle;
  readonly #store: Store;
  readonly #object: { readonly objectKey: string; readonly size: number };

  static async create(store: Store, object: SparseFile['object'], path: string): Promise<SparseFile> {
    const file = await open(path, 'wx', 0o600);
    await file.truncate(object.size);
    return new SparseFile(store, object, file);
  }

  private constructor(store: Store, object: SparseFile['object'], file: FileHandle) {
    this.#store = store;
    this.#object = object;
    this.#file = file;
  }

  get object(): { readonly objectKey: string; readonly size: number } {
    return this.#object;
  }

  /** Fetches a range, as far as it lies in the object. @param range both ends inclusive */
  async fetch({ start, end }: ByteRange, signal: AbortSignal): Promise<void> {
    const { objectKey, size } = this.#object;
    const range = { start: Math.max(0, start), end: Math.min(end, size - 1) };
    if (range.end < range.start) return;
    await copy(this.#store.read(objectKey, range, signal), this.#file, range.start);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

async function copy(chunks: AsyncIterable<Uint8Array>, file: FileHandle, start: number): Promise<void> {
  let position = start;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; ) {
      const { bytesWritten } = await file.write(chunk, at, chunk.byteLength - at, position);
      at += bytesWritten;
      position += bytesWritten;
    }
  }
}
