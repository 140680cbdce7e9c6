import type { Operation } from './operation.ts';
import type { OperationName } from './operation-name.ts';
import { abortMultipartUpload } from './operations/abort-multipart-upload.ts';
import { completeMultipartUpload } from './operations/complete-multipart-upload.ts';
import { createMultipartUpload } from './operations/create-multipart-upload.ts';
import { deleteObject } from './operations/delete-object.ts';
import { deleteObjects } from './operations/delete-objects.ts';
import { getObject } from './operations/get-object.ts';
import { headBucket } from './operations/head-bucket.ts';
import { headObject } from './operations/head-object.ts';
import { listMultipartUploads } from './operations/list-multipart-uploads.ts';
import { listObjectsV2 } from './operations/list-objects-v2.ts';
import { listParts } from './operations/list-parts.ts';
import { putObject } from './operations/put-object.ts';
import { uploadPart } from './operations/upload-part.ts';
import { percentDecode, type Query } from './query.ts';
import { s3Error } from './s3-error.ts';

interface Route {
  readonly operation: OperationName;
  readonly handler: Operation;
  readonly method: string;
  readonly of: 'bucket' | 'object';
  /** Query parameters that make a request this operation. */
  readonly needs: readonly string[];
  readonly takes?: readonly string[];
}

/** The first that fits: an operation with parameters stands before the one without. */
const routes: readonly Route[] = [
  route('UploadPart', uploadPart, 'PUT', 'object', ['partNumber', 'uploadId']),
  route('PutObject', putObject, 'PUT', 'object'),
  route('ListParts', listParts, 'GET', 'object', ['uploadId'], ['max-parts', 'part-number-marker']),
  route('GetObject', getObject, 'GET', 'object'),
  route('HeadObject', headObject, 'HEAD', 'object'),
  route('AbortMultipartUpload', abortMultipartUpload, 'DELETE', 'object', ['uploadId']),
  route('DeleteObject', deleteObject, 'DELETE', 'object'),
  route('CreateMultipartUpload', createMultipartUpload, 'POST', 'object', ['uploads']),
  route('CompleteMultipartUpload', completeMultipartUpload, 'POST', 'object', ['uploadId']),
  route('DeleteObjects', deleteObjects, 'POST', 'bucket', ['delete']),
  route(
    'ListMultipartUploads',
    listMultipartUploads,
    'GET',
    'bucket',
    ['uploads'],
    ['prefix', 'key-marker', 'upload-id-marker'],
  ),
  route('ListObjectsV2', listObjectsV2, 'GET', 'bucket', ['list-type'], ['prefix', 'continuation-token']),
  route('HeadBucket', headBucket, 'HEAD', 'bucket'),
];

function route(
  operation: OperationName,
  handler: Operation,
  method: string,
  of: Route['of'],
  needs: readonly string[] = [],
  takes: readonly string[] = [],
): Route {
  return { operation, handler, method, of, needs, takes };
}

export interface Target {
  readonly bucket: string;
  readonly key: string;
}

/** Path-style: /bucket/key. "The name for a key is a sequence of Unicode characters ... up to 1,024 bytes". */
export function readTarget(path: string): Target {
  const match = /^\/([^/]*)(?:\/(.*))?$/s.exec(path);
  if (match === null) throw s3Error('InvalidURI', "Couldn't parse the specified URI.");
  const key = percentDecode(match[2] ?? '');
  if (Buffer.byteLength(key) > 1024) throw s3Error('KeyTooLongError', 'Your key is too long');
  return { bucket: percentDecode(match[1] ?? ''), key };
}

/** Refuses parameters it doesn't know, so that nobody thinks they work. */
export function findRoute(
  method: string,
  { bucket, key }: Target,
  query: Query,
): { operation: OperationName; handler: Operation } {
  const of = key === '' ? 'bucket' : 'object';
  const found = routes.find(
    (route) => route.method === method && route.of === of && route.needs.every((name) => query.has(name)),
  );
  if (found === undefined || bucket === '') {
    throw s3Error('NotImplemented', `The stub has no such operation: ${method} on ${of}`);
  }
  const unknown = query.pairs.find(([name]) => !isKnown(found, name));
  if (unknown !== undefined) {
    throw s3Error('NotImplemented', `${found.operation} has no parameter ${unknown[0]} in the stub`);
  }
  return found;
}

function isKnown({ needs, takes = [] }: Route, name: string): boolean {
  // x-id names the operation for people who read logs: the SDK sends it, S3 ignores it
  return name === 'x-id' || needs.includes(name) || takes.includes(name);
}
