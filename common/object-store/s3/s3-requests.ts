import {
  DeleteObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import type { StoredObject } from '../object-store.ts';
import { control, type S3Context } from './s3-context.ts';
import { isRefusal, isStatus } from './s3-failure.ts';
import { givenMetadata, givenType } from './s3-metadata.ts';

/** null: there is none. */
export async function headObject(
  context: S3Context,
  key: string,
  signal: AbortSignal,
): Promise<StoredObject | null> {
  const command = new HeadObjectCommand({ Bucket: context.bucket, Key: key });
  const request = { operation: 'HeadObject', key, signal };
  const found = await control(context, request, (abortSignal) =>
    orNull(context.client.send(command, { abortSignal })),
  );
  return (
    found && {
      key,
      size: found.ContentLength ?? 0,
      lastModified: found.LastModified ?? new Date(0),
      contentType: givenType(found.Metadata ?? {}) ?? found.ContentType ?? 'application/octet-stream',
      metadata: givenMetadata(found.Metadata ?? {}),
    }
  );
}

/** An object that is not there is deleted already. */
export async function deleteObject(context: S3Context, key: string, signal: AbortSignal): Promise<void> {
  const command = new DeleteObjectCommand({ Bucket: context.bucket, Key: key });
  const request = { operation: 'DeleteObject', key, signal };
  await control(context, request, (abortSignal) => orNull(context.client.send(command, { abortSignal })));
}

export async function headBucket(context: S3Context, signal: AbortSignal): Promise<void> {
  const input = { Bucket: context.bucket };
  const request = { operation: 'HeadBucket', key: '', signal };
  await control(context, request, (abortSignal) =>
    context.client.send(new HeadBucketCommand(input), { abortSignal }).catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      // no answer to HEAD has a body, which says why
      await context.client.send(new ListObjectsV2Command(input), { abortSignal });
      throw error;
    }),
  );
}

/** null: there is no such object. */
async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (isStatus(error, 404)) return null;
    throw error;
  }
}
