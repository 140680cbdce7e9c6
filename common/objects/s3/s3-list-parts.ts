import type { OpenUpload } from '../object-store.ts';
import { type S3Context, tryReadOrNull } from './s3-context.ts';
import { withStorageErrors } from './s3-failure.ts';
import { listUploads } from './s3-list.ts';
import type { S3Request } from './s3-sender.ts';
import { documentIn, type XmlElement, xmlElements, xmlText } from './s3-xml.ts';

/** A multipart upload in the store. */
export interface UploadName {
  readonly key: string;
  readonly uploadId: string;
}

/** A part in an answer of ListParts. */
export interface ListedPart {
  /** From 1. */
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** As the server has it, usually with quotes. */
  readonly etag: string;
  readonly lastModified: Date | undefined;
}

/** s3proxy lists all 10,000 parts of an upload at once. Bytes. */
const longestList = 8 * 1024 ** 2;

/**
 * All parts of an upload by number, each once: a part that is listed twice is the newest. Null: there is no such upload;
 * SeaweedFS lists no parts instead. https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
 */
export async function listParts(
  context: S3Context,
  upload: UploadName,
  signal: AbortSignal,
): Promise<readonly ListedPart[] | null> {
  const parts = new Map<number, ListedPart>();
  let marker = 0;
  for (;;) {
    const from: Record<string, string> = marker === 0 ? {} : { 'part-number-marker': `${marker}` };
    const page = await withStorageErrors('ListParts', upload.key, signal, () =>
      tryReadOrNull(context, listRequest(upload, from), signal, documentIn),
    );
    if (page === null) return null;
    for (const element of xmlElements(page, 'Part')) {
      const part = listedPart(element);
      if (!isOlder(part, parts.get(part.number))) parts.set(part.number, part);
    }
    const next = Number(xmlText(page, 'NextPartNumberMarker') ?? 0);
    // a marker that stays the same would never end
    if (xmlText(page, 'IsTruncated') !== 'true' || !(next > marker)) break;
    marker = next;
  }
  return [...parts.values()].sort((a, b) => a.number - b.number);
}

/** When the newest part of an upload arrived, or when it began; null: it no longer exists. */
export async function lastPartAt(
  context: S3Context,
  { key, id, since }: OpenUpload,
  signal: AbortSignal,
): Promise<Date | null> {
  const parts = await listParts(context, { key, uploadId: id }, signal);
  if (parts === null) return null;
  let newest = since;
  for (const { lastModified } of parts) {
    if (lastModified !== undefined && lastModified > newest) newest = lastModified;
  }
  return newest;
}

/** Whether nothing is left of an upload. Rejects with the original failure if the server does not say. */
export async function isUploadOver(
  context: S3Context,
  upload: UploadName,
  signal: AbortSignal,
): Promise<boolean> {
  const request = listRequest(upload, { 'max-parts': '1' });
  const found = await tryReadOrNull(context, request, signal, documentIn);
  if (found === null) return true;
  if (xmlElements(found, 'Part').length > 0) return false;
  return !(await isListed(context, upload, signal));
}

/** Whether the upload is among the open ones: SeaweedFS answers ListParts with 200 and no parts when it is not. */
export async function isListed(
  context: S3Context,
  { key, uploadId }: UploadName,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const { id } of listUploads(context, key, signal)) if (id === uploadId) return true;
  return false;
}

function listRequest({ key, uploadId }: UploadName, more: Readonly<Record<string, string>>): S3Request {
  const query = { uploadId, ...more };
  return { operation: 'ListParts', method: 'GET', key, query, maxAnswer: longestList };
}

function listedPart(element: XmlElement): ListedPart {
  const time = new Date(xmlText(element, 'LastModified') ?? '');
  return {
    number: Number(xmlText(element, 'PartNumber')),
    size: Number(xmlText(element, 'Size') ?? 0),
    etag: xmlText(element, 'ETag') ?? '',
    lastModified: Number.isNaN(time.getTime()) ? undefined : time,
  };
}

function isOlder(part: ListedPart, other: ListedPart | undefined): boolean {
  return (part.lastModified?.getTime() ?? 0) < (other?.lastModified?.getTime() ?? 0);
}
