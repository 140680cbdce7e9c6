import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { combineCrc32 } from '../crc32-combine.ts';
import type { ObjectDescription } from '../object-description.ts';
import type { ObjectWriter, Part, ResumableWriter, WrittenBytes } from '../object-store.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import type { S3Context } from './s3-context.ts';
import { withStorageErrors } from './s3-failure.ts';
import { storedMetadata } from './s3-metadata.ts';
import { MultipartUpload, type StoredPart } from './s3-multipart-upload.ts';
import { putObject, type WriteTarget } from './s3-put-object.ts';

/**
 * Writes one object. Sends no request before it is needed: an object of one part is a PutObject, a larger object is a
 * multipart upload that begins with its first part.
 */
export class S3Writer implements ObjectWriter {
  protected readonly context: S3Context;
  protected readonly target: WriteTarget;
  protected readonly underWay = new Set<Promise<void>>();
  protected upload: Promise<MultipartUpload> | null = null;
  protected state: 'open' | 'completing' | 'complete' | 'failed' = 'open';
  readonly #outer: AbortSignal;
  /** Aborted with the outer signal or the writer; only a multipart upload uses it. */
  #cancel: AbortController | null = null;
  readonly #onOuterAbort = (): void => this.#cancel?.abort(this.#outer.reason);
  #parts = 0;
  #size = 0;
  #crc32 = 0;
  #aborting: Promise<void> | null = null;

  constructor(
    context: S3Context,
    key: string,
    description: ObjectDescription,
    signal: AbortSignal,
    writerId: string = randomUUID(),
  ) {
    this.context = context;
    this.target = {
      key,
      writerId,
      contentType: description.served?.contentType ?? description.contentType,
      contentDisposition: description.served?.contentDisposition,
      metadata: storedMetadata(description, writerId),
      unconfirmed: { upload: 0, object: 0 },
    };
    this.#outer = signal;
  }

  get #signal(): AbortSignal {
    return this.#cancel?.signal ?? this.#outer;
  }

  async writePart(part: Part): Promise<void> {
    if (this.state !== 'open') throw new Error('the object is not open for writing');
    await this.#store(part);
  }

  async complete(last: Part): Promise<void> {
    if (this.state !== 'open') throw new Error('the object is not open for writing');
    this.state = 'completing';
    try {
      this.#signal.throwIfAborted();
      if (this.upload === null)
        await this.#withStorageErrors('PutObject', (signal) =>
          putObject(this.context, this.target, last, signal),
        );
      else await this.#finish(this.upload, last);
      this.#signal.throwIfAborted();
      this.state = 'complete';
    } catch (error) {
      this.state = 'failed';
      this.failed();
      throw error;
    }
    this.unlisten();
    // the object is complete, but a retried begin may have begun two uploads
    if (this.target.unconfirmed.upload > 0) {
      void removeLeftovers(this.context, { key: this.target.key, unknownUpload: true });
    }
  }

  /** `complete` failed. */
  protected failed(): void {
    void this.abort();
  }

  abort(): Promise<void> {
    if (this.state === 'complete' || this.state === 'completing') return Promise.resolve();
    this.state = 'failed';
    this.#aborting ??= this.#takeBack();
    return this.#aborting;
  }

  #store(part: Part): Promise<void> {
    this.#signal.throwIfAborted();
    this.upload ??= this.#begin();
    const number = ++this.#parts;
    this.#size += part.size;
    this.#crc32 = combineCrc32(this.#crc32, part.crc32, part.size);
    const stored = this.upload.then((upload) =>
      this.#withStorageErrors('UploadPart', (signal) => upload.storePart(number, part, signal)),
    );
    this.underWay.add(stored);
    // complete waits for it as well
    stored.catch(() => {});
    return stored;
  }

  #listen(): void {
    this.#cancel = new AbortController();
    this.#outer.addEventListener('abort', this.#onOuterAbort, { once: true });
    // one listener for each running request
    setMaxListeners(0, this.#cancel.signal);
  }

  protected unlisten(): void {
    this.#outer.removeEventListener('abort', this.#onOuterAbort);
  }

  /** Aborts the running requests. */
  protected cut(why: string): void {
    this.unlisten();
    this.#cancel?.abort(new Error(why));
  }

  /** Continues after the written bytes. */
  protected goOn(upload: MultipartUpload, { size, crc32 }: WrittenBytes): void {
    this.#listen();
    this.upload = Promise.resolve(upload);
    this.#parts = upload.parts.length;
    this.#size = size;
    this.#crc32 = crc32;
  }

  #begin(): Promise<MultipartUpload> {
    this.#listen();
    return this.#withStorageErrors('CreateMultipartUpload', (signal) =>
      MultipartUpload.begin(this.context, this.target, signal),
    );
  }

  async #finish(begun: Promise<MultipartUpload>, last: Part): Promise<void> {
    if (last.size > 0) await this.#store(last);
    await Promise.all(this.underWay);
    const upload = await begun;
    const whole = { size: this.#size, crc32: this.#crc32 };
    await this.#withStorageErrors('CompleteMultipartUpload', (signal) => upload.complete(whole, signal));
  }

  /** Waits until none of our requests is running, then removes any remains. */
  async #takeBack(): Promise<void> {
    this.cut('the object was aborted');
    const parts = await Promise.allSettled(this.underWay);
    const upload = await this.upload?.catch(() => null);
    await removeLeftovers(this.context, {
      key: this.target.key,
      uploadId: upload?.id,
      unknownUpload: this.target.unconfirmed.upload > 0,
      lateParts: parts.some(({ status }) => status === 'rejected'),
      object: this.target.unconfirmed.object > 0,
    });
  }

  #withStorageErrors<T>(operation: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = this.#signal;
    return withStorageErrors(operation, this.target.key, signal, () => work(signal));
  }
}

/** Writes a resumable object: written bytes survive a failure, and the process. */
export class ResumableS3Writer extends S3Writer implements ResumableWriter {
  /** @param before the stored beginning of the object */
  constructor(
    context: S3Context,
    key: string,
    description: ObjectDescription,
    signal: AbortSignal,
    before: WrittenBytes | null,
  ) {
    const place = placeOf(before);
    super(context, key, description, signal, place?.writerId);
    if (before !== null && place !== null)
      this.goOn(new MultipartUpload(context, this.target, place), before);
  }

  async written(): Promise<WrittenBytes> {
    const upload = await this.upload?.catch(() => null);
    const parts: StoredPart[] = [];
    // there may be gaps
    for (let part = upload?.parts[0]; part !== undefined; part = upload?.parts[parts.length])
      parts.push(part);
    if (upload == null || parts.length === 0) return { size: 0, crc32: 0, place: null };
    const { id, checksums } = upload;
    const place: S3Place = { id, writerId: this.target.writerId, checksums, parts };
    return {
      size: parts.reduce((sum, [, size]) => sum + size, 0),
      crc32: parts.reduce((crc, [, size, crc32]) => combineCrc32(crc, crc32, size), 0),
      place,
    };
  }

  async suspend(): Promise<void> {
    if (this.state !== 'open') return;
    this.state = 'failed';
    this.cut('the object is left unfinished');
    await Promise.allSettled(this.underWay);
    if (this.upload === null || (await this.written()).size > 0) return;
    // a failure is ignored; anything else under the key may belong to a later writer
    const uploadId = (await this.upload.catch(() => null))?.id;
    await removeLeftovers(this.context, { key: this.target.key, uploadId, lateParts: true });
  }

  protected override failed(): void {
    this.unlisten();
  }
}

/** Where the parts of an unfinished object are. */
interface S3Place {
  /** Id of the multipart upload. */
  readonly id: string;
  readonly writerId: string;
  readonly checksums: boolean;
  readonly parts: readonly StoredPart[];
}

/** Null: the server has no bytes of the object. */
export function placeOf(written: WrittenBytes | null): S3Place | null {
  return (written?.place ?? null) as S3Place | null;
}
