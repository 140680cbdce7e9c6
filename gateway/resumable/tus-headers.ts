import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  chunkChecksumMismatch,
  invalidHeader,
  unsupportedMediaType,
  unsupportedVersion,
} from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { FileChecksums } from '../multipart/file-checksums.ts';

/** https://tus.io/protocols/resumable-upload */
export const tusVersion = '1.0.0';
export const chunkType = 'application/offset+octet-stream';
const checksumBytes = { sha1: 20, sha256: 32, crc32: 4 } as const;
type Algorithm = keyof typeof checksumBytes;

/** Headers of the answer to OPTIONS. */
export function tusOptions(maxUploadBytes: number): Readonly<Record<string, string>> {
  return {
    'tus-resumable': tusVersion,
    'tus-version': tusVersion,
    'tus-extension':
      'creation,creation-with-upload,creation-defer-length,expiration,checksum,termination,concatenation',
    'tus-max-size': `${maxUploadBytes}`,
    'tus-checksum-algorithm': Object.keys(checksumBytes).join(','),
  };
}

type Headers = Pick<HttpRequest, 'header'>;

/** "If the version specified by the Client is not supported by the Server, it MUST respond with the 412 status". */
export function requireTus(request: Headers): void {
  if (request.header('tus-resumable') !== tusVersion) throw unsupportedVersion(tusVersion);
}

/** "All PATCH requests MUST use Content-Type: application/offset+octet-stream, otherwise [...] 415". */
export function requireChunkType(request: Headers): void {
  if (request.header('content-type')?.trim().toLowerCase() !== chunkType)
    throw unsupportedMediaType(chunkType);
}

/** undefined: no such header. */
export function readCount(request: Headers, name: 'Upload-Offset' | 'Upload-Length'): number | undefined {
  const text = request.header(name.toLowerCase());
  if (text === undefined) return undefined;
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(count)) throw invalidHeader([`The header ${name} should be a number of bytes`]);
  return count;
}

/** null: the length is deferred. */
export function readLength(request: Headers): number | null {
  const length = readCount(request, 'Upload-Length');
  const deferred = request.header('upload-defer-length');
  if (deferred !== undefined && deferred !== '1')
    throw invalidHeader(['The header Upload-Defer-Length should be 1']);
  if ((length === undefined) === (deferred === undefined))
    throw invalidHeader(['One of the headers Upload-Length and Upload-Defer-Length is needed']);
  return length ?? null;
}

/** Most partial uploads that one file may join. */
const mostParts = 100;
const uploadAddress = /\/_f_\/([^/?#]+)\/resumable\/([^/?#]+)(?:\?[^#]*)?$/;

/** Upload-Concat: `partial`, or the names of the partial uploads to join. undefined: no such header. */
export function readConcat(request: Headers, project: string): 'partial' | readonly string[] | undefined {
  const text = request.header('upload-concat')?.trim();
  if (text === undefined || text === 'partial') return text;
  const [, list] = /^final; *(\S.*)$/.exec(text) ?? [];
  const addresses = list?.split(/ +/) ?? [];
  const names = addresses.map((address) => {
    const [, slug, name = ''] = uploadAddress.exec(address) ?? [];
    return slug === project ? name : '';
  });
  const isBad = names.length > mostParts || names.includes('') || new Set(names).size < names.length;
  if (names.length === 0 || isBad)
    throw invalidHeader([
      `The header Upload-Concat should be partial, or final; and the addresses of up to ${mostParts} different uploads of this project`,
    ]);
  return names;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
/** "The key MUST NOT contain spaces and commas and MUST NOT be empty. The key SHOULD be ASCII encoded". */
const pairPattern = /^([\x21-\x2b\x2d-\x7e]+)(?: +(\S*))?$/;

/** Upload-Metadata: names, and values in base64. Throws 400 for anything else. */
export function readMetadata(text: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  if (text.trim() === '') return pairs;
  for (const piece of text.split(',')) {
    const [, key, value = ''] = pairPattern.exec(piece.trim()) ?? [];
    if (key === undefined)
      throw invalidHeader(['The header Upload-Metadata should be pairs of a name and a value']);
    if (pairs.has(key)) throw invalidHeader([`The header Upload-Metadata has ${key} twice`]);
    if (!base64.test(value))
      throw invalidHeader([`The value of ${key} in the header Upload-Metadata should be base64`]);
    pairs.set(key, utf8(key, Buffer.from(value, 'base64')));
  }
  return pairs;
}

function utf8(key: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw invalidHeader([`The value of ${key} in the header Upload-Metadata should be UTF-8`], cause);
  }
}

/** Checks the bytes of one request. */
export interface ChunkCheck {
  update(bytes: Uint8Array): void;
  /** Throws 460 when the bytes do not match the checksum. */
  finish(): void;
}

/** Upload-Checksum and Content-Digest; null: neither was sent. */
export function readChunkCheck(request: Headers): ChunkCheck | null {
  const checks = [readUploadChecksum(request), readContentDigest(request)].filter((check) => check !== null);
  if (checks.length === 0) return null;
  return {
    update(bytes) {
      for (const check of checks) check.update(bytes);
    },
    finish() {
      for (const check of checks) check.finish();
    },
  };
}

function readContentDigest(request: Headers): ChunkCheck | null {
  const text = request.header('content-digest');
  if (text === undefined) return null;
  const checksums = new FileChecksums();
  checksums.expect('content-digest', text);
  checksums.begin();
  return { update: (bytes) => checksums.update(bytes), finish: () => checksums.finish(0) };
}

/** Repr-Digest, which covers the whole upload and is checked at its end. undefined: nothing to check. */
export function readReprDigest(request: Headers): string | undefined {
  const text = request.header('repr-digest');
  if (text === undefined) return undefined;
  const checksums = new FileChecksums();
  checksums.expect('repr-digest', text);
  return checksums.any ? text : undefined;
}

function readUploadChecksum(request: Headers): ChunkCheck | null {
  const text = request.header('upload-checksum');
  if (text === undefined) return null;
  const [, name = '', value = ''] = /^(\S+) +(\S+)$/.exec(text.trim()) ?? [];
  if (!Object.hasOwn(checksumBytes, name)) {
    const known = Object.keys(checksumBytes).join(', ');
    throw invalidHeader([`The header Upload-Checksum should be one of ${known} and a checksum in base64`]);
  }
  const algorithm = name as Algorithm;
  const wanted = Buffer.from(base64.test(value) ? value : '', 'base64');
  if (wanted.byteLength !== checksumBytes[algorithm])
    throw invalidHeader([
      `The header Upload-Checksum should have ${checksumBytes[algorithm]} bytes in base64`,
    ]);
  const { update, digest } = algorithm === 'crc32' ? crc32Hash() : hashOf(algorithm);
  return {
    update,
    finish() {
      if (!digest().equals(wanted)) throw chunkChecksumMismatch();
    },
  };
}

interface RunningHash {
  update(bytes: Uint8Array): void;
  digest(): Buffer;
}

function hashOf(algorithm: string): RunningHash {
  const hash = createHash(algorithm);
  return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest() };
}

function crc32Hash(): RunningHash {
  let sum = 0;
  return {
    update(bytes) {
      sum = crc32(bytes, sum);
    },
    digest() {
      const bytes = Buffer.allocUnsafe(4);
      bytes.writeUInt32BE(sum);
      return bytes;
    },
  };
}
