import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { combineCrc32 } from '../crc32-combine.ts';
import type { ObjectDescription, Part, ResumableWriter, WrittenBytes } from '../object-store.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import type { S3Context } from './s3-context.ts';
import { storageError } from './s3-failure.ts';
import { storedMetadata } from './s3-metadata.ts';
import {
  type MultipartUpload,
  openMultipartUpload,
  reopenMultipartUpload,
  type StoredPart,
  type WriteTarget,
} from './s3-multipart-upload.ts';
import { putObject } from './s3-put-object.ts';
import type { Unconfirmed } from './s3-unconfirmed.ts';

/**
 * Writes one object. No request is sent before it is needed: an object of one part is one PutObject, a larger one a
 * multipart upload that begins with its first part.
 */
export class S3Writer implements ResumableWriter {
  readonly #context: S3Context;
  readonly #target: WriteTarget;
  readonly #outer: AbortSignal;
  /** What is written survives a failure, and the process. */
  readonly #resumable: boolean;
  /** Aborted with the outer signal, and when the writer is; only a multipart upload has use for it. */
  #cancel: AbortController | null = null;
  readonly #onOuterAbort = (): void => this.#cancel?.abort(this.#outer.reason);
  readonly #unconfirmed: Unconfirmed = { upload: 0, object: 0 };
  readonly #underWay = new Set<Promise<void>>();
  #upload: Promise<MultipartUpload> | null = null;
  #parts = 0;
  #size = 0;
  #crc32 = 0;
  #state: 'open' | 'completing' | 'complete' | 'failed' = 'open';
  #aborting: Promise<void> | null = null;

  /** @param before what is written of an object that may be left unfinished; absent: it may not */
  constructor(
    context: S3Context,
    key: string,
    description: ObjectDescription,
    { signal, before }: { signal: AbortSignal; before?: WrittenBytes | null },
  ) {
    this.#context = context;
    this.#resumable = before !== undefined;
    const place = placeOf(before);
    const writerId = place?.writerId ?? randomUUID();
    this.#target = {
      key,
      writerId,
      contentType: description.served?.contentType ?? description.contentType,
      contentDisposition: description.served?.contentDisposition,
      metadata: storedMetadata(description, writerId),
    };
    this.#outer = signal;
    if (place === null || before == null) return;
    this.#listen();
    this.#upload = Promise.resolve(
      reopenMultipartUpload(context, this.#target, {
        ...place,
        stored: place.parts.map(([etag, size, crc32]) => ({ etag, size, crc32 })),
      }),
    );
    this.#parts = place.parts.length;
    this.#size = before.size;
    this.#crc32 = before.crc32;
  }

  async written(): Promise<WrittenBytes> {
    const upload = await this.#upload?.catch(() => null);
    const parts: StoredPart[] = [];
    // there may be gaps
    for (let part = upload?.stored[0]; part !== undefined; part = upload?.stored[parts.length])
      parts.push(part);
    if (upload == null || parts.length === 0) return { size: 0, crc32: 0, place: null };
    const place: S3Place = {
      id: upload.id,
      writerId: this.#target.writerId,
      checksums: upload.checksums,
      parts: parts.map(({ etag, size, crc32 }) => [etag, size, crc32]),
    };
    return {
      size: parts.reduce((sum, { size }) => sum + size, 0),
      crc32: parts.reduce((crc, part) => combineCrc32(crc, part.crc32, part.size), 0),
      place,
    };
  }

  async suspend(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#outer.removeEventListener('abort', this.#onOuterAbort);
    this.#cancel?.abort(new Error('the object is left unfinished'));
    await Promise.allSettled(this.#underWay);
    if (this.#upload === null || (await this.written()).size > 0) return;
    // nobody will hear of it; what else there is of the key may be a later writer's
    const uploadId = (await this.#upload.catch(() => null))?.id;
    const others = { unknownUpload: false, lateParts: true, object: false };
    await removeLeftovers(this.#context, { key: this.#target.key, uploadId, ...others });
  }

  get #signal(): AbortSignal {
    return this.#cancel?.signal ?? this.#outer;
  }

  async writePart(part: Part): Promise<void> {
    if (this.#state !== 'open') throw new Error('the object is not open for writing');
    await this.#store(part);
  }

  async complete(last: Part): Promise<void> {
    if (this.#state !== 'open') throw new Error('the object is not open for writing');
    this.#state = 'completing';
    try {
      this.#signal.throwIfAborted();
      if (this.#upload === null) await this.#put(last);
      else await this.#finish(this.#upload, last);
      this.#signal.throwIfAborted();
      this.#state = 'complete';
    } catch (error) {
      this.#state = 'failed';
      if (this.#resumable) this.#outer.removeEventListener('abort', this.#onOuterAbort);
      else void this.abort();
      throw error;
    }
    this.#outer.removeEventListener('abort', this.#onOuterAbort);
    // it is complete; but a begin that was tried twice may have begun two
    if (this.#unconfirmed.upload > 0) {
      void removeLeftovers(this.#context, {
        key: this.#target.key,
        uploadId: undefined,
        unknownUpload: true,
        lateParts: false,
        object: false,
      });
    }
  }

  abort(): Promise<void> {
    if (this.#state === 'complete' || this.#state === 'completing') return Promise.resolve();
    this.#state = 'failed';
    this.#aborting ??= this.#takeBack();
    return this.#aborting;
  }

  #store(part: Part): Promise<void> {
    this.#signal.throwIfAborted();
    this.#upload ??= this.#begin();
    const number = ++this.#parts;
    this.#size += part.size;
    this.#crc32 = combineCrc32(this.#crc32, part.crc32, part.size);
    const stored = this.#upload
      .then((upload) => upload.storePart(number, part, this.#signal))
      .catch((error: unknown) => {
        throw this.#failure('UploadPart', error);
      });
    this.#underWay.add(stored);
    // complete waits for it as well
    stored.catch(() => {});
    return stored;
  }

  #listen(): void {
    this.#cancel = new AbortController();
    this.#outer.addEventListener('abort', this.#onOuterAbort, { once: true });
    // one listener for each request under way
    setMaxListeners(0, this.#cancel.signal);
  }

  async #begin(): Promise<MultipartUpload> {
    this.#listen();
    try {
      return await openMultipartUpload(this.#context, this.#target, this.#unconfirmed, this.#signal);
    } catch (error) {
      throw this.#failure('CreateMultipartUpload', error);
    }
  }

  async #put(part: Part): Promise<void> {
    try {
      await putObject(this.#context, this.#target, part, this.#unconfirmed, this.#outer);
    } catch (error) {
      throw this.#failure('PutObject', error);
    }
  }

  async #finish(begun: Promise<MultipartUpload>, last: Part): Promise<void> {
    if (last.size > 0) await this.#store(last);
    await Promise.all(this.#underWay);
    const upload = await begun;
    const whole = { size: this.#size, crc32: this.#crc32 };
    try {
      await upload.complete(whole, this.#unconfirmed, this.#signal);
    } catch (error) {
      throw this.#failure('CompleteMultipartUpload', error);
    }
  }

  /** Waits until nothing of ours is under way, then removes what there may be. */
  async #takeBack(): Promise<void> {
    this.#outer.removeEventListener('abort', this.#onOuterAbort);
    this.#cancel?.abort(new Error('the object was aborted'));
    const parts = await Promise.allSettled(this.#underWay);
    const upload = await this.#upload?.catch(() => null);
    await removeLeftovers(this.#context, {
      key: this.#target.key,
      uploadId: upload?.id,
      unknownUpload: this.#unconfirmed.upload > 0,
      lateParts: parts.some(({ status }) => status === 'rejected'),
      object: this.#unconfirmed.object > 0,
    });
  }

  #failure(operation: string, error: unknown): unknown {
    const signal = this.#signal;
    if (signal.aborted) return signal.reason;
    return error instanceof Error && error.message.startsWith('S3 failed at')
      ? error
      : storageError(operation, this.#target.key, error);
  }
}

/** Where the parts of an unfinished object are. */
interface S3Place {
  /** Of the multipart upload. */
  readonly id: string;
  readonly writerId: string;
  readonly checksums: boolean;
  readonly parts: readonly (readonly [etag: string, size: number, crc32: number])[];
}

/** Null: the server has nothing of the object. */
export function placeOf(written: WrittenBytes | null | undefined): S3Place | null {
  return (written?.place ?? null) as S3Place | null;
}
