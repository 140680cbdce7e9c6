import { createHash, type Hash } from 'node:crypto';
import { checksumMismatch, invalidMultipart } from '../../common/errors/catalogue.ts';

const names = { 'content-md5': 'Content-MD5', 'x-checksum-crc32': 'x-checksum-crc32' } as const;
export type ChecksumName = keyof typeof names;
export const checksumNames = Object.keys(names) as ChecksumName[];

const md5Length = 16;
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;
const hexPattern = /^[0-9A-Fa-f]{8}$/;

/**
 * What a client says of its file's bytes, so that damage on the way shows: Content-MD5 (RFC 1864: base64) and
 * x-checksum-crc32 (base64 of four bytes, high one first, as S3 writes it; or eight hexadecimal digits). Browsers can't
 * set the headers of a part, so both may also be headers of the request or fields of the form: all that come must fit.
 */
export class FileChecksums {
  readonly #md5s: Buffer[] = [];
  readonly #crc32s: number[] = [];
  /** The CRC32 is taken of every file anyway; MD5 only of those that come with one. */
  #hash: Hash | null = null;
  #begun = false;

  /** Throws 400 for a text that is no checksum, because it would check nothing, and for an MD5 that comes too late. */
  expect(name: ChecksumName, text: string): void {
    if (name === 'x-checksum-crc32') {
      this.#crc32s.push(readCrc32(text.trim()));
      return;
    }
    this.#md5s.push(decodeBase64(name, text.trim(), md5Length));
    if (this.#begun && this.#hash === null)
      throw invalidMultipart('The form field Content-MD5 should come before the file');
  }

  /** The bytes of the file follow. */
  begin(): void {
    this.#begun = true;
    if (this.#md5s.length > 0) this.#hash = createHash('md5');
  }

  update(chunk: Uint8Array): void {
    this.#hash?.update(chunk);
  }

  /** Throws 400 when the file is not the one that was announced. @param crc32 of all its bytes */
  finish(crc32: number): void {
    const wrong: string[] = [];
    if (this.#crc32s.some((expected) => expected !== crc32)) wrong.push(names['x-checksum-crc32']);
    const md5 = this.#hash?.digest();
    if (md5 !== undefined && !this.#md5s.every((expected) => expected.equals(md5)))
      wrong.push(names['content-md5']);
    if (wrong.length > 0) throw checksumMismatch(wrong);
  }
}

function readCrc32(text: string): number {
  if (hexPattern.test(text)) return Number.parseInt(text, 16);
  return decodeBase64('x-checksum-crc32', text, 4).readUInt32BE();
}

function decodeBase64(name: ChecksumName, text: string, length: number): Buffer {
  const bytes = base64Pattern.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.byteLength !== length || bytes.toString('base64') !== text) {
    throw invalidMultipart(`The file's ${names[name]} is malformed: it is ${length} bytes in base64`);
  }
  return bytes;
}
