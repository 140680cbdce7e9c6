import type { IncomingHttpHeaders } from 'node:http';
import { combineCrc32 } from '#objects/crc32-combine.ts';
import { checksumText } from '#objects/s3/s3-checksums.ts';
import type { Blob } from './blobs.ts';
import { type BucketState, compareUtf8, type MultipartUpload, type StoredObject } from './bucket-state.ts';
import { assertConditions, isNotModified, rangeOf } from './conditions.ts';
import { unescapeText, type XmlChild, xmlDocument } from './render-xml.ts';
import { s3Error } from './s3-error.ts';

export interface S3Call {
  readonly bucket: string;
  /** Empty for requests to the bucket. */
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

export interface ReceivedBody {
  readonly blob: Blob;
  readonly crc32: number;
  /** The client said its checksum, which was right. */
  readonly checksum: boolean;
  /** The CRC-32C that the client said, which was right. */
  readonly crc32c: string | undefined;
  /** Its MD5; undefined: the stub makes another one up. */
  readonly etag: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly xml?: string;
  /** Bytes from start up to and without end. */
  readonly blob?: { readonly blob: Blob; readonly start: number; readonly end: number };
}

export interface StubContext {
  readonly bucket: BucketState;
  readonly minPartBytes: number;
  /** Of objects, uploads or parts, in one answer. */
  readonly pageSize: number;
  /** Whether the ETags of parts, and of objects that were sent at once, are their MD5. */
  readonly md5Etags: boolean;
  /** Numbers of parts that lists do not show yet. */
  readonly unlisted: ReadonlySet<number>;
  /** Ascending as text. */
  newId(): string;
}

export interface Operation {
  readonly method: string;
  readonly of: 'bucket' | 'object';
  /** Query parameters that make a request this operation. */
  readonly needs?: readonly string[];
  /** Its body is kept as the bytes of an object, and not read as a document. */
  readonly stores?: true;
  /** Synchronous, so that nothing comes between its checks and its changes. */
  run(call: S3Call, stub: StubContext, body: ReceivedBody): Answer;
}

const checksumHeader = 'x-amz-checksum-crc32';
const metadataPrefix = 'x-amz-meta-';
const keptHeaders = ['content-type', 'cache-control', 'content-disposition', 'content-encoding'];

/**
 * What the stub can do, by the names of the S3 API reference. The first that fits a request: one with parameters stands
 * before the one without.
 */
export const operations = {
  UploadPart: {
    method: 'PUT',
    of: 'object',
    needs: ['partNumber', 'uploadId'],
    stores: true,
    run(call, { bucket, newId }, { blob, crc32, checksum, crc32c, etag = newId() }) {
      const upload = uploadOf(call, bucket);
      // AWS refuses a part with a checksum when the upload was created without an algorithm; the other way is allowed
      if (!upload.checksums && checksum) throw s3Error('InvalidRequest', 'Checksum Type mismatch occurred');
      if (upload.crc32c && crc32c === undefined)
        throw s3Error('InvalidRequest', 'The part lacks its checksum');
      const partNumber = Number(call.query.get('partNumber'));
      bucket.putPart(upload, { partNumber, etag, crc32, crc32c, blob, lastModified: new Date() });
      return { status: 200, headers: { etag: `"${etag}"` } };
    },
  },
  PutObject: {
    method: 'PUT',
    of: 'object',
    stores: true,
    run({ key, headers }, { bucket, newId }, { blob, crc32, checksum, crc32c, etag = newId() }) {
      if (headers['if-none-match'] === '*' && bucket.has(key))
        throw s3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
      const lastModified = new Date();
      bucket.putObject({
        key,
        etag,
        crc32,
        blob,
        lastModified,
        checksums: checksum,
        crc32c,
        headers: descriptionOf(headers),
      });
      return { status: 200, headers: { etag: `"${etag}"` } };
    },
  },
  ListParts: {
    method: 'GET',
    of: 'object',
    needs: ['uploadId'],
    run(call, { bucket, pageSize, unlisted }) {
      const { key, uploadId, parts, checksums } = uploadOf(call, bucket);
      const marker = Number(call.query.get('part-number-marker') ?? 0);
      const rest = [...parts.values()]
        .filter(({ partNumber }) => partNumber > marker && !unlisted.has(partNumber))
        .sort((a, b) => a.partNumber - b.partNumber);
      const page = rest.slice(0, Math.min(pageSize, Number(call.query.get('max-parts') ?? pageSize)));
      const next = page.length < rest.length ? page.at(-1) : undefined;
      return {
        status: 200,
        xml: xmlDocument('ListPartsResult', [
          ...named({ Bucket: call.bucket, Key: key, UploadId: uploadId }),
          // "When a list is truncated": the SDK's paginator goes on for ever when it is always there
          next === undefined ? null : ['NextPartNumberMarker', next.partNumber],
          ['IsTruncated', next !== undefined],
          ...page.map((part): XmlChild => {
            const { partNumber, etag, crc32, lastModified, blob } = part;
            const listed = { PartNumber: partNumber, ETag: `"${etag}"`, Size: blob.size };
            const checksum = checksums ? { ChecksumCRC32: checksumText(crc32) } : {};
            return ['Part', named({ ...listed, LastModified: lastModified.toISOString(), ...checksum })];
          }),
        ]),
      };
    },
  },
  GetObject: {
    method: 'GET',
    of: 'object',
    run({ key, query, headers: asked }, { bucket }) {
      const { blob, ...object } = bucket.object(key);
      const { size } = blob;
      const headers = objectHeaders(asked, object, asked.range === undefined);
      for (const name of keptHeaders) {
        const wanted = query.get(`response-${name}`);
        if (wanted !== null) headers[name] = wanted;
      }
      assertConditions(asked, object);
      if (isNotModified(asked, object)) return { status: 304, headers };
      const range = rangeOf(asked.range, size);
      if (range === null) return { status: 200, headers, blob: { blob, start: 0, end: size } };
      const { start, end } = range;
      headers['content-range'] = `bytes ${start}-${end - 1}/${size}`;
      return { status: 206, headers, blob: { blob, start, end } };
    },
  },
  HeadObject: {
    method: 'HEAD',
    of: 'object',
    run({ key, headers }, { bucket }) {
      const object = bucket.object(key);
      const length = { 'content-length': `${object.blob.size}` };
      return { status: 200, headers: { ...objectHeaders(headers, object, true), ...length } };
    },
  },
  AbortMultipartUpload: {
    method: 'DELETE',
    of: 'object',
    needs: ['uploadId'],
    run(call, { bucket }) {
      bucket.abortUpload(uploadOf(call, bucket));
      return { status: 204 };
    },
  },
  /** Also 204 when there is no such object. */
  DeleteObject: {
    method: 'DELETE',
    of: 'object',
    run({ key }, { bucket }) {
      bucket.deleteObject(key);
      return { status: 204 };
    },
  },
  CreateMultipartUpload: {
    method: 'POST',
    of: 'object',
    needs: ['uploads'],
    run({ bucket: name, key, headers }, { bucket, newId }) {
      const checksums = headers['x-amz-checksum-algorithm'] === 'CRC32';
      const crc32c = headers['x-amz-checksum-algorithm'] === 'CRC32C';
      const uploadId = `upload.${newId()}`;
      const initiated = new Date();
      const parts = new Map();
      bucket.addUpload({
        key,
        uploadId,
        initiated,
        checksums,
        crc32c,
        parts,
        headers: descriptionOf(headers),
      });
      const begun = named({ Bucket: name, Key: key, UploadId: uploadId });
      return { status: 200, xml: xmlDocument('InitiateMultipartUploadResult', begun) };
    },
  },
  CompleteMultipartUpload: {
    method: 'POST',
    of: 'object',
    needs: ['uploadId'],
    run(call, { bucket, minPartBytes, newId }, body) {
      const upload = uploadOf(call, bucket);
      const parts = partsOf(textOf(body), upload);
      if (parts.slice(0, -1).some(({ blob }) => blob.size < minPartBytes))
        throw s3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size');
      const crc32 = parts.reduce((sum, part) => combineCrc32(sum, part.crc32, part.blob.size), 0);
      const declared = call.headers[checksumHeader];
      if (declared !== undefined && declared !== checksumText(crc32))
        throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
      const etag = `${newId()}-${parts.length}`;
      const { key, headers, checksums } = upload;
      const lastModified = new Date();
      bucket.completeUpload(upload, parts, { key, headers, checksums, etag, crc32, lastModified });
      const done = named({ Bucket: call.bucket, Key: key, ETag: `"${etag}"` });
      return { status: 200, xml: xmlDocument('CompleteMultipartUploadResult', done) };
    },
  },
  DeleteObjects: {
    method: 'POST',
    of: 'bucket',
    needs: ['delete'],
    run(_call, { bucket }, body) {
      for (const [, key = ''] of textOf(body).matchAll(/<Key>(.*?)<\/Key>/gs))
        bucket.deleteObject(unescapeText(key));
      // of what was deleted a quiet request hears nothing
      return { status: 200, xml: xmlDocument('DeleteResult', []) };
    },
  },
  /** With upload-id-marker the list goes on within the key of key-marker, after that upload id; without, after that key. */
  ListMultipartUploads: {
    method: 'GET',
    of: 'bucket',
    needs: ['uploads'],
    run({ bucket: name, query }, { bucket, pageSize }) {
      const prefix = query.get('prefix') ?? '';
      const keyMarker = query.get('key-marker') ?? '';
      const idMarker = keyMarker === '' ? '' : (query.get('upload-id-marker') ?? '');
      const rest = bucket.uploads().filter(({ key, uploadId }) => {
        if (!key.startsWith(prefix)) return false;
        const order = compareUtf8(key, keyMarker);
        return order > 0 || (order === 0 && idMarker !== '' && compareUtf8(uploadId, idMarker) > 0);
      });
      const page = rest.slice(0, pageSize);
      const next = page.length < rest.length ? page.at(-1) : undefined;
      return {
        status: 200,
        xml: xmlDocument('ListMultipartUploadsResult', [
          ...named({ Bucket: name, Prefix: prefix, IsTruncated: next !== undefined }),
          ...(next ? named({ NextKeyMarker: next.key, NextUploadIdMarker: next.uploadId }) : []),
          ...page.map(({ key, uploadId, initiated }): XmlChild => {
            return ['Upload', named({ Key: key, UploadId: uploadId, Initiated: initiated.toISOString() })];
          }),
        ]),
      };
    },
  },
  ListObjectsV2: {
    method: 'GET',
    of: 'bucket',
    needs: ['list-type'],
    run({ bucket: name, query }, { bucket, pageSize }) {
      const prefix = query.get('prefix') ?? '';
      // "ContinuationToken is obfuscated and is not a real key": nobody should come to rely on its form
      const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString();
      const rest = bucket
        .objects()
        .filter(({ key }) => key.startsWith(prefix) && compareUtf8(key, after) > 0);
      const page = rest.slice(0, pageSize);
      const last = page.length < rest.length ? page.at(-1) : undefined;
      return {
        status: 200,
        xml: xmlDocument('ListBucketResult', [
          ...named({ Name: name, Prefix: prefix, KeyCount: page.length, IsTruncated: last !== undefined }),
          last === undefined ? null : ['NextContinuationToken', Buffer.from(last.key).toString('base64')],
          ...page.map(({ key, lastModified, etag, blob }): XmlChild => {
            const listed = { Key: key, LastModified: lastModified.toISOString() };
            return ['Contents', named({ ...listed, ETag: `"${etag}"`, Size: blob.size })];
          }),
        ]),
      };
    },
  },
  /** Of other buckets there is NoSuchBucket before. */
  HeadBucket: { method: 'HEAD', of: 'bucket', run: () => ({ status: 200 }) },
} satisfies Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof operations;

function named(values: Readonly<Record<string, string | number | boolean>>): XmlChild[] {
  return Object.entries(values);
}

function uploadOf({ query, key }: S3Call, bucket: BucketState): MultipartUpload {
  return bucket.upload(query.get('uploadId') ?? '', key);
}

/** Headers that S3 keeps and gives back, metadata among them. */
function descriptionOf(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => name.startsWith(metadataPrefix) || keptHeaders.includes(name),
  );
  return { 'content-type': 'binary/octet-stream', ...Object.fromEntries(kept as [string, string][]) };
}

/** A part of an object has no checksum. */
function objectHeaders(
  asked: IncomingHttpHeaders,
  { headers, etag, lastModified, checksums, crc32, crc32c }: Omit<StoredObject, 'blob'>,
  whole: boolean,
): Record<string, string> {
  const wanted = whole && asked['x-amz-checksum-mode'] === 'ENABLED';
  const checksum = wanted && checksums;
  return {
    ...headers,
    etag: `"${etag}"`,
    'last-modified': lastModified.toUTCString(),
    ...(checksum && { [checksumHeader]: checksumText(crc32), 'x-amz-checksum-type': 'FULL_OBJECT' }),
    ...(wanted &&
      crc32c !== undefined && { 'x-amz-checksum-crc32c': crc32c, 'x-amz-checksum-type': 'FULL_OBJECT' }),
  };
}

function textOf({ blob }: ReceivedBody): string {
  return blob.bytes()?.toString() ?? '';
}

/** The parts that a CompleteMultipartUpload document names, each found and checked. */
function partsOf(document: string, { parts, checksums, crc32c }: MultipartUpload) {
  return [...document.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, entry = '']) => {
    const text = (name: string): string | undefined =>
      new RegExp(`<${name}>(.*?)</${name}>`).exec(entry)?.[1]?.replace(/&quot;|"/g, '');
    const part = parts.get(Number(text('PartNumber')));
    const checksum = text('ChecksumCRC32');
    // AWS takes a list without them for FULL_OBJECT; MinIO and Versity want each for every upload made with checksums
    const sameChecksum =
      checksum === undefined ? !checksums : part !== undefined && checksum === checksumText(part.crc32);
    const sameCrc32c = !crc32c || text('ChecksumCRC32C') === part?.crc32c;
    if (part === undefined || part.etag !== text('ETag') || !sameChecksum || !sameCrc32c)
      throw s3Error('InvalidPart', 'One or more of the specified parts could not be found.');
    return part;
  });
}
