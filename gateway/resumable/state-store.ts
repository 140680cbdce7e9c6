import { crc32 } from 'node:zlib';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { type Remainder, restKey, stateKey, type UploadAddress, type UploadState } from './upload-state.ts';

type Store = Pick<ObjectStore, 'create' | 'read' | 'head' | 'delete'>;

/** A state of 10,000 parts has half a megabyte. */
const largestState = 4 * 1024 * 1024;
const json = { contentType: 'application/json', metadata: {} };

/**
 * Keeps what is known of uploads as objects beside their bytes, so that whoever finds the one finds the other. Saving a
 * state is one atomic write: an offset counts from then on.
 */
export class StateStore {
  readonly #store: Store;
  readonly #deploymentId: string;

  constructor(args: { store: Store; deploymentId: string }) {
    this.#store = args.store;
    this.#deploymentId = args.deploymentId;
  }

  addressOf({ ownerId, projectSlug, name }: Omit<UploadAddress, 'deploymentId'>): UploadAddress {
    return { deploymentId: this.#deploymentId, ownerId, projectSlug, name };
  }

  async load(address: UploadAddress, signal: AbortSignal): Promise<UploadState | null> {
    const key = stateKey(address);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of this.#store.read(key, null, signal)) {
        bytes += chunk.byteLength;
        if (bytes > largestState) throw new Error(`${key} is no state of an upload`);
        chunks.push(chunk);
      }
    } catch (error) {
      signal.throwIfAborted();
      if ((await this.#store.head(key, signal)) === null) return null;
      throw error;
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as UploadState;
  }

  async save(state: UploadState, signal: AbortSignal): Promise<void> {
    await this.#put(stateKey(this.addressOf(state.file)), Buffer.from(JSON.stringify(state)), signal);
  }

  /** @param offset of the end of these bytes */
  async saveRest(
    { file }: UploadState,
    chunks: readonly Uint8Array[],
    { size, crc32, offset }: { size: number; crc32: number; offset: number },
    signal: AbortSignal,
  ): Promise<Remainder> {
    const key = restKey(this.addressOf(file), offset);
    const writer = await this.#store.create(
      key,
      { contentType: 'application/octet-stream', metadata: {} },
      signal,
    );
    await writer.complete({ chunks, size, crc32 });
    return { key, size };
  }

  readRest({ key }: Remainder, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#store.read(key, null, signal);
  }

  async isThere({ key }: Remainder, signal: AbortSignal): Promise<boolean> {
    return (await this.#store.head(key, signal)) !== null;
  }

  async removeRest(rest: Remainder, signal: AbortSignal): Promise<void> {
    await this.#store.delete(rest.key, signal);
  }

  async remove(address: UploadAddress, signal: AbortSignal): Promise<void> {
    await this.#store.delete(stateKey(address), signal);
  }

  async #put(key: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
    const writer = await this.#store.create(key, json, signal);
    await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) });
  }
}
