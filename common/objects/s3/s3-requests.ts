import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { keysAtOnce, type StoredObject } from '../object-store.ts';
import { controlOrNull, type S3Context, sendOrNull, tryCommand, tryControl } from './s3-context.ts';
import { isRefusal, isStatus, storageError, withStorageErrors } from './s3-failure.ts';
import { callerMetadata, callerType, metadataIn } from './s3-metadata.ts';
import type { S3Request } from './s3-sender.ts';

/** null: there is no such object. */
export async function headObject(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<StoredObject | null> {
  const found = await sendOrNull(context, headRequest(key), signal);
  if (found === null) return null;
  const { headers } = found;
  const metadata = metadataIn(headers);
  const lastModified = new Date(headers.get('last-modified') ?? 0);
  return {
    key,
    size: sizeIn(headers),
    lastModified: Number.isNaN(lastModified.getTime()) ? new Date(0) : lastModified,
    contentType: callerType(metadata) ?? headers.get('content-type') ?? 'application/octet-stream',
    metadata: callerMetadata(metadata),
    etag: headers.get('etag'),
  };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html */
export function headRequest(key: string, headers: Readonly<Record<string, string>> = {}): S3Request {
  return { operation: 'HeadObject', method: 'HEAD', key, headers };
}

/** Bytes of the object. */
export function sizeIn(headers: WholeAnswer['headers']): number {
  return Number(headers.get('content-length') ?? 0);
}

/** Also succeeds if there is no such object. */
export async function deleteObject(context: S3Context, key: string, signal: AbortSignal): Promise<void> {
  await controlOrNull(context, new DeleteObjectCommand({ Bucket: context.bucket, Key: key }), signal);
}

const singlesAtOnce = 8;

/** Returns the keys of objects that may still exist. */
export async function deleteObjects(
  context: S3Context,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (let i = 0; i < keys.length; i += keysAtOnce) {
    const some = keys.slice(i, i + keysAtOnce);
    const command = new DeleteObjectsCommand({
      Bucket: context.bucket,
      Delete: { Objects: some.map((Key) => ({ Key })), Quiet: true },
    });
    try {
      const { Errors = [] } = await tryCommand(context, command, signal);
      left.push(...Errors.flatMap(({ Key }) => Key ?? []));
    } catch (error) {
      signal.throwIfAborted();
      // some servers lack this request, or require another checksum for it
      if (!isRefusal(error) && !isStatus(error, 501)) throw storageError('DeleteObjects', '', error);
      await forEachAtOnce(some, singlesAtOnce, (key) => deleteObject(context, key, signal));
    }
  }
  return left;
}

export async function headBucket(context: S3Context, signal: AbortSignal): Promise<void> {
  const { client, bucket } = context;
  const input = { Bucket: bucket };
  const send = (abortSignal: AbortSignal) =>
    client.send(new HeadBucketCommand(input), { abortSignal }).catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      // an answer to HEAD has no body with a reason
      await client.send(new ListObjectsV2Command(input), { abortSignal });
      throw error;
    });
  await withStorageErrors('HeadBucket', '', signal, () => tryControl(context, signal, send));
}
