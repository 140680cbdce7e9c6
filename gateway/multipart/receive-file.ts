import { invalidMultipart, missingFilePart, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import type { ObjectWriter } from '#objects/object-store.ts';
import type { FileHead } from '../inspect/file-head.ts';
import {
  type BodyReader,
  type ObjectStage,
  type ReceiveBodyArgs,
  type ReceivedObject,
  receiveBody,
} from '../receive/receive-body.ts';
import { chunkFields, refuseChunk } from './chunk-fields.ts';
import { type ChecksumName, checksumNames, type FileChecksums } from './file-checksums.ts';
import { MultipartParser } from './multipart-parser.ts';
import type { PartHead } from './part-head.ts';

/** Name of the part with the file (interface.md section 4.1). */
const filePartName = 'file';
export const maxFieldBytes = 1024 * 1024;
/** Most bytes kept of a field: longer values are invalid. */
const maxKnownField = 4000;
const noFields: ReadonlyMap<string, string> = new Map();

export interface FilePart {
  /** As sent. */
  readonly fileName: string;
  /** As sent. */
  readonly contentType: string | undefined;
  /** The fields before it that the caller asked for, in UTF-8. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface ReceiveFileArgs extends Omit<ReceiveBodyArgs, 'reader'> {
  readonly boundary: string;
  readonly maxFileBytes: number;
  /** Names of fields that describe the file. */
  readonly fields?: readonly string[];
  /** Checksums from the headers of the request; those of the form are added. */
  readonly checksums: FileChecksums;
  /** Checksums of the whole form. */
  readonly bodyChecksums?: FileChecksums;
  /** Begins the object for the file part. Its signal is aborted as soon as the upload fails. */
  readonly begin: (file: FilePart, signal: AbortSignal, head: FileHead) => Promise<ObjectWriter>;
}

/**
 * Reads a multipart body and stores the part named `file`. Resolves when the body was a complete form with one file.
 * Rejects with 400, 408, 413, 503 or an error of the store or the body, and then leaves nothing.
 */
export function receiveFile(args: ReceiveFileArgs): Promise<ReceivedObject> {
  return receiveBody({ reader: (object) => new FormReader(args, object), ...args });
}

/** Finds the file in a form. */
class FormReader implements BodyReader {
  readonly #args: ReceiveFileArgs;
  readonly #object: ObjectStage;
  readonly #parser: MultipartParser;
  /** Known fields, with their values so far. */
  readonly #fields: { readonly name: string; value: string }[] = [];
  #hasFile = false;
  #fileBytes = 0;
  #formOver = false;
  #bodyOver = false;

  constructor(args: ReceiveFileArgs, object: ObjectStage) {
    this.#args = args;
    this.#object = object;
    args.bodyChecksums?.begin();
    this.#parser = new MultipartParser(args.boundary, {
      onPart: (head) => (head.name === filePartName ? this.#storeFile(head) : this.#readField(head)),
      onEnd: () => {
        this.#formOver = true;
        if (this.#bodyOver) this.#finish();
      },
      onError: (error) => object.fail(error),
    });
  }

  feed(chunk: Uint8Array): void {
    this.#args.bodyChecksums?.update(chunk);
    this.#parser.feed(chunk);
  }

  end(): void {
    this.#bodyOver = true;
    if (this.#formOver) this.#finish();
    else this.#parser.end();
  }

  #finish(): void {
    if (!this.#hasFile) {
      this.#object.fail(missingFilePart());
      return;
    }
    const { checksums, bodyChecksums } = this.#args;
    this.#object.finish((crc32) => {
      this.#takeFields();
      checksums.finish(crc32);
      bodyChecksums?.finish(0);
    });
  }

  #readField(head: PartHead): (chunk: Uint8Array) => void {
    const skipped = skip(head);
    const describes = this.#args.fields?.includes(head.name) === true;
    const isKnown = chunkFields.has(head.name) || describes || isChecksum(head.name.toLowerCase());
    if (this.#hasFile && describes)
      throw invalidMultipart(`The form field ${head.name} should come before the file`);
    if (head.fileName !== undefined || !isKnown) return skipped;
    const field = { name: head.name, value: '' };
    this.#fields.push(field);
    return (chunk) => {
      skipped(chunk);
      if (field.value.length <= maxKnownField) field.value += Buffer.from(chunk).toString('latin1');
    };
  }

  /** Reads checksums from the fields so far, and refuses a chunk of a file. @returns those that describe it */
  #takeFields(): ReadonlyMap<string, string> {
    if (this.#fields.length === 0) return noFields;
    const fields = this.#fields.splice(0);
    refuseChunk((field) => fields.find(({ name }) => name === field)?.value);
    for (const { name, value } of fields) {
      const checksum = name.toLowerCase();
      if (isChecksum(checksum)) this.#args.checksums.expect(checksum, value);
    }
    const described = fields.filter(({ name }) => this.#args.fields?.includes(name));
    return new Map(described.map(({ name, value }) => [name, Buffer.from(value, 'latin1').toString()]));
  }

  #storeFile(head: PartHead): (chunk: Uint8Array) => void {
    if (head.fileName === undefined) throw missingFilePart();
    if (this.#hasFile) {
      throw invalidMultipart('The form has two parts named "file": only one file is accepted');
    }
    const { begin, checksums, maxFileBytes } = this.#args;
    this.#hasFile = true;
    const fields = this.#takeFields();
    for (const name of checksumNames)
      for (const text of head.headers[name] ?? []) checksums.expect(name, text);
    checksums.begin();
    const file = { fileName: head.fileName, contentType: head.contentType, fields };
    this.#object.begin((signal, head) => begin(file, signal, head));
    return (chunk) => {
      this.#fileBytes += chunk.byteLength;
      if (this.#fileBytes > maxFileBytes) throw payloadTooLarge(maxFileBytes, 'File');
      checksums.update(chunk);
      this.#object.write(chunk);
    };
  }
}

function isChecksum(name: string): name is ChecksumName {
  return (checksumNames as readonly string[]).includes(name);
}

/** Skips a part. The limit of the body bounds files; fields should be small. */
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
