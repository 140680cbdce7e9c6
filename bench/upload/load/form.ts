import { crc32 } from 'node:zlib';
import { combineCrc32 } from '#objects/crc32-combine.ts';
import { fileCrc32, fileSlices } from './file-bytes.ts';

export interface FileSpec {
  readonly seed: number;
  /** Bytes. */
  readonly size: number;
}

/** A multipart body with one file, and the expected result. */
export interface Form extends FileSpec {
  readonly fileName: string;
  readonly contentType: string;
  readonly contentLength: number;
  readonly head: Buffer;
  readonly tail: Buffer;
  /** Of the file. */
  readonly crc32: number;
  /** CRC-32 of the whole body, which a proxy forwards. */
  readonly bodyCrc32: number;
}

const boundary = '----SluiceBench7MA4YWxkTrZu0gW5';

export function createForm(file: FileSpec): Form {
  const fileName = `bench-${file.seed}.bin`;
  const head = formHead(fileName);
  const tail = formTail();
  const checksum = fileCrc32(file.seed, file.size);
  return {
    ...file,
    fileName,
    contentType: formContentType,
    contentLength: head.length + file.size + tail.length,
    head,
    tail,
    crc32: checksum,
    bodyCrc32: crc32(tail, combineCrc32(crc32(head), checksum, file.size)),
  };
}

export const formContentType = `multipart/form-data; boundary=${boundary}`;

export function formHead(fileName: string): Buffer {
  return Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${fileName}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
}

export function formTail(): Buffer {
  return Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** The body from its first byte to its last. */
export function* formSlices(form: Form): Generator<Buffer> {
  yield form.head;
  yield* fileSlices(form.seed, form.size);
  yield form.tail;
}
