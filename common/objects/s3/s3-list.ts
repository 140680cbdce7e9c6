import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { ObjectInfo, OpenUpload } from '../object-store.ts';
import { control, type S3Context } from './s3-context.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html, page by page as they are read. */
export async function* listObjects(
  context: S3Context,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ObjectInfo, void, undefined> {
  let ContinuationToken: string | undefined;
  do {
    const input = { Bucket: context.bucket, Prefix: prefix, ContinuationToken };
    const page = await control(context, new ListObjectsV2Command(input), signal);
    for (const { Key, Size, LastModified } of page.Contents ?? []) {
      signal.throwIfAborted();
      if (Key !== undefined) yield { key: Key, size: Size ?? 0, lastModified: LastModified ?? new Date(0) };
    }
    ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (ContinuationToken !== undefined);
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html */
export async function* listUploads(
  context: S3Context,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<OpenUpload, void, undefined> {
  let KeyMarker: string | undefined;
  let UploadIdMarker: string | undefined;
  do {
    const input = { Bucket: context.bucket, Prefix: prefix || undefined, KeyMarker, UploadIdMarker };
    const page = await control(context, new ListMultipartUploadsCommand(input), signal);
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      signal.throwIfAborted();
      if (Key !== undefined && UploadId !== undefined) {
        yield { key: Key, id: UploadId, since: Initiated ?? new Date(0) };
      }
    }
    KeyMarker = page.IsTruncated === true ? page.NextKeyMarker : undefined;
    UploadIdMarker = page.NextUploadIdMarker;
  } while (KeyMarker !== undefined);
}
