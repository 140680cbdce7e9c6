import { combineCrc32 } from '#objects/crc32-combine.ts';

/** Size and checksum of received bytes. */
export interface ReceivedBytes {
  readonly size: number;
  /** Computed from the bytes themselves. */
  readonly crc32: number;
  /** The bytes, of objects that are read again. */
  readonly text?: string;
}

interface OpenUpload {
  readonly key: string;
  readonly parts: Map<number, ReceivedBytes>;
}

/** The object that the store should have for an upload. */
export interface ExpectedObject extends ReceivedBytes {
  /** Last segment of the object's key. */
  readonly name: string;
}

/** Objects of one size and content. */
export interface EqualObjects extends ReceivedBytes {
  readonly count: number;
}

export interface SinkReport {
  readonly objects: number;
  readonly openUploads: number;
  readonly alike: readonly EqualObjects[];
  /** By operation. */
  readonly calls: Readonly<Record<string, number>>;
  /** Bodies whose x-amz-checksum-crc32 did not match the received bytes. */
  readonly badDigests: number;
}

/** Sizes and checksums of stored objects. Only states and plans of uploads are stored with their bytes. */
export class SinkObjects {
  #objects = new Map<string, ReceivedBytes>();
  #uploads = new Map<string, OpenUpload>();
  #calls: Record<string, number> = {};
  #uploadIds = 0;
  #badDigests = 0;

  count(operation: string): void {
    this.#calls[operation] = (this.#calls[operation] ?? 0) + 1;
  }

  noteBadDigest(): void {
    this.#badDigests++;
  }

  begin(key: string): string {
    const id = `upload${++this.#uploadIds}`;
    this.#uploads.set(id, { key, parts: new Map() });
    return id;
  }

  /** Answers false when there is no such upload. */
  putPart(uploadId: string, partNumber: number, part: ReceivedBytes): boolean {
    return this.#uploads.get(uploadId)?.parts.set(partNumber, part) !== undefined;
  }

  /** Joins the parts in the given order; false when one of them, or the upload, is not there. */
  complete(uploadId: string, partNumbers: readonly number[]): ReceivedBytes | false {
    const upload = this.#uploads.get(uploadId);
    if (upload === undefined) return false;
    let object: ReceivedBytes = { size: 0, crc32: 0 };
    for (const number of partNumbers) {
      const part = upload.parts.get(number);
      if (part === undefined) return false;
      object = {
        size: object.size + part.size,
        crc32: combineCrc32(object.crc32, part.crc32, part.size),
      };
    }
    this.#uploads.delete(uploadId);
    this.put(upload.key, object);
    return object;
  }

  /** Undefined: there is no such upload. */
  parts(uploadId: string): ReadonlyMap<number, ReceivedBytes> | undefined {
    return this.#uploads.get(uploadId)?.parts;
  }

  abort(uploadId: string): boolean {
    return this.#uploads.delete(uploadId);
  }

  put(key: string, object: ReceivedBytes): void {
    this.#objects.set(nameOf(key), object);
  }

  get(key: string): ReceivedBytes | undefined {
    return this.#objects.get(nameOf(key));
  }

  delete(key: string): void {
    this.#objects.delete(nameOf(key));
  }

  /** One sentence for each wrong object. */
  problems(expected: readonly ExpectedObject[]): string[] {
    return expected.flatMap(({ name, size, crc32 }) => {
      const object = this.#objects.get(name);
      if (object === undefined) return [`${name} is not in the store`];
      if (object.size !== size) return [`${name} has ${object.size} bytes instead of ${size}`];
      return object.crc32 === crc32 ? [] : [`${name} has other bytes than were sent`];
    });
  }

  report(): SinkReport {
    const alike = new Map<string, EqualObjects>();
    for (const { size, crc32 } of this.#objects.values()) {
      const key = `${size} ${crc32}`;
      alike.set(key, { size, crc32, count: (alike.get(key)?.count ?? 0) + 1 });
    }
    return {
      objects: this.#objects.size,
      openUploads: this.#uploads.size,
      alike: [...alike.values()],
      calls: this.#calls,
      badDigests: this.#badDigests,
    };
  }

  forget(): void {
    this.#objects = new Map();
    this.#uploads = new Map();
    this.#calls = {};
    this.#badDigests = 0;
  }
}

/** The state of a resumable upload, or the plan of a direct one, which is named after its file. */
export function isState(key: string): boolean {
  return key.includes('/_resumable/') || key.includes('/_direct/');
}

/** The last segment of a file's key. */
function nameOf(key: string): string {
  return isState(key) ? key : key.slice(key.lastIndexOf('/') + 1);
}
