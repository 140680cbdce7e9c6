import { notFound } from '../../common/errors/catalogue.ts';
import { type FileKeyParts, fileKey, isStoredName } from '../../common/metadata/file-key.ts';
import type { ObjectStore, StoredObject } from '../../common/object-store/object-store.ts';

type Objects = Pick<ObjectStore, 'head' | 'read' | 'close'>;

/** The uploaded files, to be read. Their store is opened when the first one is. */
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

  async *read({ key }: StoredObject, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* (await this.#opened()).read(key, null, signal);
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
