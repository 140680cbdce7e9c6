import { createHash, type Hash } from 'node:crypto';
import { checksumMismatch, invalidMultipart } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

const names = {
  'content-md5': 'Content-MD5',
  'x-checksum-crc32': 'x-checksum-crc32',
  'content-digest': 'Content-Digest',
  'repr-digest': 'Repr-Digest',
} as const;
export type ChecksumName = keyof typeof names;
export const checksumNames = Object.keys(names) as ChecksumName[];
/** RFC 9530: the digests of a request cover its whole body. */
export const digestNames = ['content-digest', 'repr-digest'] as const;

/** The digests of RFC 9530 that are checked: others prove less, or cost more. */
const digestBytes: Readonly<Record<string, number>> = { 'sha-256': 32, 'sha-512': 64 };
const md5Length = 16;
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;
const hexPattern = /^[0-9A-Fa-f]{8}$/;
// RFC 8941 section 3.2: a dictionary of byte sequences
const digestPattern = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):$/;

interface ExpectedDigest {
  readonly name: ChecksumName;
  /** The name of the algorithm in OpenSSL. */
  readonly algorithm: string;
  readonly digest: Buffer;
}

/**
 * A client's checksums of its file, which detect damage in transit: Content-MD5 (RFC 1864: base64), x-checksum-crc32
 * (base64 of four bytes, high one first, as S3 writes it; or eight hexadecimal digits), and the digests of RFC 9530.
 * Browsers can't set the headers of a part, so form fields work too. All must match.
 */
export class FileChecksums {
  readonly #crc32s: number[] = [];
  readonly #digests: ExpectedDigest[] = [];
  /** Only hashes that the client sent; the CRC32 of a file is computed anyway. */
  readonly #hashes = new Map<string, Hash>();
  #begun = false;

  /** Throws 400 for a malformed checksum, which would check nothing, and for a hash that comes after the file. */
  expect(name: ChecksumName, text: string): void {
    if (name === 'x-checksum-crc32') {
      this.#crc32s.push(readCrc32(text.trim()));
      return;
    }
    const digests =
      name === 'content-md5'
        ? [{ name, algorithm: 'md5', digest: decodeBase64(name, text.trim(), md5Length) }]
        : readDigests(name, text);
    for (const one of digests) {
      if (this.#begun && !this.#hashes.has(one.algorithm))
        throw invalidMultipart(`The form field ${names[name]} should come before the file`);
      this.#digests.push(one);
    }
  }

  /** Whether there is anything to check. */
  get any(): boolean {
    return this.#digests.length > 0 || this.#crc32s.length > 0;
  }

  /** Call before the first bytes of the file. */
  begin(): void {
    this.#begun = true;
    for (const { algorithm } of this.#digests) this.#hashes.set(algorithm, createHash(algorithm));
  }

  update(chunk: Uint8Array): void {
    for (const hash of this.#hashes.values()) hash.update(chunk);
  }

  /** Throws 400 when a checksum does not match. @param crc32 of all bytes */
  finish(crc32: number): void {
    const wrong: string[] = [];
    if (this.#crc32s.some((expected) => expected !== crc32)) wrong.push(names['x-checksum-crc32']);
    const digests = new Map([...this.#hashes].map(([algorithm, hash]) => [algorithm, hash.digest()]));
    for (const { name, algorithm, digest } of this.#digests)
      if (digests.get(algorithm)?.equals(digest) !== true && !wrong.includes(names[name]))
        wrong.push(names[name]);
    if (wrong.length > 0) throw checksumMismatch(wrong);
  }
}

/** The digests that are checked; others are ignored. */
function readDigests(name: ChecksumName, text: string): ExpectedDigest[] {
  return text.split(',').flatMap((member) => {
    const [, algorithm, digest] = digestPattern.exec(member.trim()) ?? [];
    if (algorithm === undefined || digest === undefined)
      throw invalidMultipart(`${names[name]} is malformed: it should look like sha-256=:…:, with base64`);
    const length = digestBytes[algorithm];
    if (length === undefined) return [];
    return [{ name, algorithm: algorithm.replace('-', ''), digest: decodeBase64(name, digest, length) }];
  });
}

function readCrc32(text: string): number {
  if (hexPattern.test(text)) return Number.parseInt(text, 16);
  return decodeBase64('x-checksum-crc32', text, 4).readUInt32BE();
}

function decodeBase64(name: ChecksumName, text: string, length: number): Buffer {
  const bytes = base64Pattern.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.byteLength !== length || bytes.toString('base64') !== text) {
    throw invalidMultipart(`The file's ${names[name]} is malformed: it should be ${length} bytes in base64`);
  }
  return bytes;
}

/** The checksums in headers of a request, by default in all that may have one. */
export function announcedChecksums(
  request: Pick<HttpRequest, 'header'>,
  headers: readonly ChecksumName[] = checksumNames,
): FileChecksums {
  const checksums = new FileChecksums();
  for (const name of headers) {
    const text = request.header(name);
    if (text !== undefined) checksums.expect(name, text);
  }
  return checksums;
}
