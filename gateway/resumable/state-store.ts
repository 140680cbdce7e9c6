import { crc32 } from 'node:zlib';
import type { ObjectStore, Part } from '#objects/object-store.ts';
import {
  offsetOf,
  type Remainder,
  readUploadKey,
  restKey,
  stateKey,
  type UploadAddress,
  type UploadState,
  uploadsPrefix,
} from './upload-state.ts';

type Store = Pick<ObjectStore, 'create' | 'read' | 'readWhole' | 'head' | 'delete' | 'list'>;

/** The state of 10,000 parts is half a megabyte. Bytes. */
const largestState = 4 * 1024 * 1024;
const readsAtOnce = 16;
/** States have no metadata. */
const stateDescription = { contentType: 'application/octet-stream', metadata: {}, replaces: true } as const;

/**
 * Keeps the states of uploads as objects in the store of their bytes, so that every gateway with the bytes has the
 * state. Saving a state is one atomic write, which makes its offset count.
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

  /** The incomplete uploads of an account. */
  async uploadsOf(ownerId: string, signal: AbortSignal): Promise<readonly UploadAddress[]> {
    const uploads: UploadAddress[] = [];
    for await (const { key } of this.#store.list(`${uploadsPrefix(this.#deploymentId)}${ownerId}/`, signal)) {
      const upload = readUploadKey(key);
      if (upload !== null && !upload.isRest) uploads.push(upload);
    }
    return uploads;
  }

  /** Stored bytes of the incomplete uploads of an account. */
  async bytesOf(ownerId: string, signal: AbortSignal): Promise<number> {
    const uploads = [...(await this.uploadsOf(ownerId, signal))];
    let bytes = 0;
    while (uploads.length > 0) {
      const some = uploads.splice(-readsAtOnce).map((upload) => this.load(upload, signal));
      for (const state of await Promise.all(some)) {
        // the bytes of partial uploads are counted already
        if (state !== null && state.concat !== 'final') bytes += offsetOf(state);
      }
    }
    return bytes;
  }

  async has(address: UploadAddress, signal: AbortSignal): Promise<boolean> {
    return (await this.#store.head(stateKey(address), signal)) !== null;
  }

  async load(address: UploadAddress, signal: AbortSignal): Promise<UploadState | null> {
    const bytes = await this.#store.readWhole(stateKey(address), largestState, signal);
    return bytes && (JSON.parse(bytes.toString('utf8')) as UploadState);
  }

  async save(state: UploadState, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(state));
    const whole = { chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) };
    await this.#put(stateKey(this.addressOf(state.file)), whole, signal);
  }

  /** @param offset where the bytes end */
  async saveRest(
    { file }: UploadState,
    bytes: Part,
    offset: number,
    signal: AbortSignal,
  ): Promise<Remainder> {
    const key = restKey(this.addressOf(file), offset);
    await this.#put(key, bytes, signal);
    return { key, size: bytes.size };
  }

  /** @param start the first byte to read */
  readRest({ key, size }: Remainder, signal: AbortSignal, start = 0): AsyncIterable<Uint8Array> {
    return this.#store.read(key, start === 0 ? null : { start, end: size - 1 }, signal);
  }

  async hasRest({ key }: Remainder, signal: AbortSignal): Promise<boolean> {
    return (await this.#store.head(key, signal)) !== null;
  }

  async removeRest(rest: Remainder, signal: AbortSignal): Promise<void> {
    await this.#store.delete(rest.key, signal);
  }

  async remove(address: UploadAddress, signal: AbortSignal): Promise<void> {
    await this.#store.delete(stateKey(address), signal);
  }

  async #put(key: string, bytes: Part, signal: AbortSignal): Promise<void> {
    const writer = await this.#store.create(key, stateDescription, signal);
    await writer.complete(bytes);
  }
}
