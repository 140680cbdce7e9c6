import type { FileHandle } from 'node:fs/promises';
import { notFound } from '#kernel/errors/catalogue.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { type FileKeyParts, fileKey } from '#objects/file-key.ts';
import type { ByteRange, ObjectStore, StoredObject } from '#objects/object-store.ts';

type Objects = Pick<ObjectStore, 'head' | 'read' | 'open' | 'close'>;

/** Reads uploaded files. Opens their store with the first file. */
export class StoredFiles {
  readonly #deploymentId: string;
  readonly #open: () => Promise<Objects>;
  #store: Promise<Objects> | null = null;

  constructor({
    deploymentId,
    open,
  }: { readonly deploymentId: string; readonly open: () => Promise<Objects> }) {
    this.#deploymentId = deploymentId;
    this.#open = open;
  }

  /** Throws a 404. */
  async find(
    { ownerId, projectSlug, name }: Omit<FileKeyParts, 'deploymentId'>,
    signal: AbortSignal,
  ): Promise<StoredObject> {
    const key = fileKey({ deploymentId: this.#deploymentId, ownerId, projectSlug, name });
    const object = isStoredName(name) ? await (await this.#opened()).head(key, signal) : null;
    if (object === null) throw notFound('There is no such file');
    return object;
  }

  async *read(
    { key }: StoredObject,
    signal: AbortSignal,
    range: ByteRange | null = null,
  ): AsyncGenerator<Uint8Array> {
    yield* (await this.#opened()).read(key, range, signal);
  }

  /** The open file, which the caller closes; null: the store has no local files. */
  async open({ key }: StoredObject, signal: AbortSignal): Promise<FileHandle | null> {
    return (await (await this.#opened()).open?.(key, signal)) ?? null;
  }

  async close(): Promise<void> {
    await (await this.#store?.catch(() => null))?.close();
  }

  #opened(): Promise<Objects> {
    this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = null;
      throw error;
    });
    return this.#store;
  }
}
