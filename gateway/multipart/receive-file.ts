import { invalidMultipart, missingFilePart, payloadTooLarge } from '../../common/errors/catalogue.ts';
import type { ObjectWriter } from '../../common/object-store/object-store.ts';
import {
  type BodyReader,
  type ObjectStage,
  type ReceiveBodyArgs,
  type ReceivedObject,
  receiveBody,
} from '../receive/receive-body.ts';
import { type ChecksumCheck, checkFile, readFileChecksums } from './file-checksums.ts';
import { MultipartParser } from './multipart-parser.ts';
import type { PartHead } from './part-head.ts';

/** Name of the part that is stored (interface.md section 4.1). */
const filePartName = 'file';
const maxFieldBytes = 1024 * 1024;

export interface FilePart {
  /** As sent. */
  readonly fileName: string;
  /** As sent. */
  readonly contentType: string | undefined;
}

export interface ReceivedFile extends ReceivedObject {
  readonly part: FilePart;
}

export interface ReceiveFileArgs extends Omit<ReceiveBodyArgs, 'reader'> {
  readonly boundary: string;
  readonly maxFileBytes: number;
  /** Begins the object for the file part. Its signal is aborted as soon as the upload fails. */
  readonly begin: (file: FilePart, signal: AbortSignal) => Promise<ObjectWriter>;
}

/**
 * Takes a multipart body and stores the bytes of its part named `file`. Resolves when the body was a whole form with
 * one file. Rejects with 400, 408, 413, 503 or what the store or the body failed with, and then leaves nothing.
 */
export async function receiveFile(args: ReceiveFileArgs): Promise<ReceivedFile> {
  const found: { part?: FilePart } = {};
  const received = await receiveBody({
    ...args,
    reader: (object) =>
      new FormReader(args, object, (part) => {
        found.part = part;
      }),
  });
  return { ...received, part: found.part as FilePart };
}

/** Finds the file in a form. */
class FormReader implements BodyReader {
  readonly #args: ReceiveFileArgs;
  readonly #object: ObjectStage;
  readonly #onFile: (file: FilePart) => void;
  readonly #parser: MultipartParser;
  /** Of the file, once there is one. */
  #checksums: ChecksumCheck | null = null;
  #fileBytes = 0;
  #formOver = false;
  #bodyOver = false;

  constructor(args: ReceiveFileArgs, object: ObjectStage, onFile: (file: FilePart) => void) {
    this.#args = args;
    this.#object = object;
    this.#onFile = onFile;
    this.#parser = new MultipartParser(args.boundary, {
      onPart: (head) => (head.name === filePartName ? this.#storeFile(head) : skip(head)),
      onEnd: () => {
        this.#formOver = true;
        if (this.#bodyOver) this.#finish();
      },
      onError: (error) => object.fail(error),
    });
  }

  feed(chunk: Uint8Array): void {
    this.#parser.feed(chunk);
  }

  end(): void {
    this.#bodyOver = true;
    if (this.#formOver) this.#finish();
    else this.#parser.end();
  }

  #finish(): void {
    const checksums = this.#checksums;
    if (checksums === null) this.#object.fail(missingFilePart());
    else this.#object.finish((crc32) => checksums.finish(crc32));
  }

  #storeFile(head: PartHead): (chunk: Uint8Array) => void {
    if (head.fileName === undefined) throw missingFilePart();
    if (this.#checksums !== null) {
      throw invalidMultipart('The form has two parts named "file": only one file is accepted');
    }
    const check = checkFile(readFileChecksums(head.headers));
    const file = { fileName: head.fileName, contentType: head.contentType };
    this.#checksums = check;
    this.#onFile(file);
    const { begin, maxFileBytes } = this.#args;
    this.#object.begin((signal) => begin(file, signal));
    return (chunk) => {
      this.#fileBytes += chunk.byteLength;
      if (this.#fileBytes > maxFileBytes) throw payloadTooLarge(maxFileBytes, 'File');
      check.update(chunk);
      this.#object.write(chunk);
    };
  }
}

/** Other parts are none of ours; a file is bounded by the body, a field is not meant to be large. */
function skip(head: PartHead): (chunk: Uint8Array) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    if (head.fileName === undefined && bytes > maxFieldBytes) {
      throw invalidMultipart(
        `The form field ${JSON.stringify(head.name.slice(0, 80))} is longer than ${maxFieldBytes} bytes`,
      );
    }
  };
}
