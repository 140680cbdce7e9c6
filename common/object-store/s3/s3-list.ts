import { ListMultipartUploadsCommand, ListObjectsV2Command, ListPartsCommand } from '@aws-sdk/client-s3';
import type { ObjectInfo, OpenUpload } from '../object-store.ts';
import { control, type S3Context } from './s3-context.ts';
import { isStatus } from './s3-failure.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html, page by page as they are read. */
export async function* listObjects(
  context: S3Context,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<ObjectInfo, void, undefined> {
  const { client, bucket } = context;
  for (let token: string | undefined, first = true; first || token !== undefined; first = false) {
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      ...(token !== undefined && { ContinuationToken: token }),
    });
    const page = await control(context, { operation: 'ListObjectsV2', key: prefix, signal }, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    for (const { Key, Size, LastModified } of page.Contents ?? []) {
      signal.throwIfAborted();
      if (Key !== undefined) yield { key: Key, size: Size ?? 0, lastModified: LastModified ?? new Date(0) };
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  }
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html */
export async function* listUploads(
  context: S3Context,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<OpenUpload, void, undefined> {
  const { client, bucket } = context;
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | null = {};
  while (marker !== null) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket: bucket,
      ...(prefix !== '' && { Prefix: prefix }),
      ...marker,
    });
    const page = await control(
      context,
      { operation: 'ListMultipartUploads', key: prefix, signal },
      (abortSignal) => client.send(command, { abortSignal }),
    );
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      signal.throwIfAborted();
      if (Key !== undefined && UploadId !== undefined) {
        yield { key: Key, id: UploadId, since: Initiated ?? new Date(0) };
      }
    }
    const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = page;
    marker =
      IsTruncated === true && NextKeyMarker !== undefined
        ? {
            KeyMarker: NextKeyMarker,
            ...(NextUploadIdMarker !== undefined && { UploadIdMarker: NextUploadIdMarker }),
          }
        : null;
  }
}

/**
 * When the newest part of an upload came, or when it was begun; null when it is no more. Ten pages at most: an upload has
 * 10,000 parts. https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
 */
export async function lastPartAt(
  context: S3Context,
  { key, id, since }: OpenUpload,
  signal: AbortSignal,
): Promise<Date | null> {
  const { client, bucket } = context;
  let newest = since;
  for (let marker: string | undefined, first = true; first || marker !== undefined; first = false) {
    const command: ListPartsCommand = new ListPartsCommand({
      ...{ Bucket: bucket, Key: key, UploadId: id },
      ...(marker !== undefined && { PartNumberMarker: marker }),
    });
    const page = await control(context, { operation: 'ListParts', key, signal }, async (abortSignal) => {
      try {
        return await client.send(command, { abortSignal });
      } catch (error) {
        if (isStatus(error, 404)) return null;
        throw error;
      }
    });
    if (page === null) return null;
    for (const { LastModified } of page.Parts ?? []) {
      if (LastModified !== undefined && LastModified > newest) newest = LastModified;
    }
    marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
  }
  return newest;
}
