import { createHash } from 'node:crypto';
import { checksumMismatch, invalidMultipart } from '../../common/errors/catalogue.ts';
import type { RawHeaders } from './part-head.ts';

/** What a client says of its file's bytes, so that damage on the way shows. */
export interface FileChecksums {
  /** MD5, 16 bytes (RFC 1864). */
  readonly md5: Buffer | undefined;
  readonly crc32: number | undefined;
}

/** Takes the bytes of one file. */
export interface ChecksumCheck {
  update(chunk: Uint8Array): void;
  /** Throws 400 when the file is not what was announced. @param crc32 of all its bytes */
  finish(crc32: number): void;
}

const md5Length = 16;
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;
const hexPattern = /^[0-9A-Fa-f]{8}$/;

/**
 * The headers Content-MD5 (RFC 1864: base64) and x-checksum-crc32 (base64 of four bytes, high one first, as S3 writes
 * it; or eight hexadecimal digits) of a part. Throws 400 for one that is neither: it would check nothing.
 */
export function readFileChecksums(headers: RawHeaders): FileChecksums {
  const md5 = only(headers, 'content-md5');
  const crc32 = only(headers, 'x-checksum-crc32');
  return {
    md5: md5 === undefined ? undefined : decodeBase64('Content-MD5', md5, md5Length),
    crc32: crc32 === undefined ? undefined : readCrc32(crc32),
  };
}

function only(headers: RawHeaders, name: string): string | undefined {
  const [value, ...others] = headers[name] ?? [];
  if (others.length > 0) throw invalidMultipart(`The file's part has the header ${name} more than once`);
  return value?.trim();
}

function readCrc32(text: string): number {
  if (hexPattern.test(text)) return Number.parseInt(text, 16);
  return decodeBase64('x-checksum-crc32', text, 4).readUInt32BE();
}

function decodeBase64(name: string, text: string, length: number): Buffer {
  const bytes = base64Pattern.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.byteLength !== length || bytes.toString('base64') !== text) {
    throw invalidMultipart(`The file's part has a malformed ${name}: it is ${length} bytes in base64`);
  }
  return bytes;
}

/** The CRC32 is taken of every file anyway; MD5 only of those that come with one. */
export function checkFile({ md5, crc32 }: FileChecksums): ChecksumCheck {
  const hash = md5 === undefined ? null : createHash('md5');
  return {
    update(chunk) {
      hash?.update(chunk);
    },
    finish(actual) {
      const wrong: string[] = [];
      if (crc32 !== undefined && crc32 !== actual) wrong.push('x-checksum-crc32');
      if (md5 !== undefined && hash?.digest().equals(md5) !== true) wrong.push('Content-MD5');
      if (wrong.length > 0) throw checksumMismatch(wrong);
    },
  };
}
