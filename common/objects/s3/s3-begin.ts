import { BrokenAnswer } from '#kernel/http-client/answer-parser.ts';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import type { S3Request } from './s3-sender.ts';
import { documentIn, xmlText } from './s3-xml.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html */
export function beginRequest(key: string, headers: Readonly<Record<string, string>>): S3Request {
  return { operation: 'CreateMultipartUpload', method: 'POST', key, query: { uploads: '' }, headers };
}

/** Checksums of parts, and of the whole object: by themselves S3 would only make a checksum of the parts' checksums. */
export const ofWholeCrc32 = { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' };
export const ofWholeCrc32c = { ...ofWholeCrc32, 'x-amz-checksum-algorithm': 'CRC32C' };

/** The id of the new upload. */
export function uploadIdIn(answer: Pick<WholeAnswer, 'text' | 'status'>): string {
  const id = xmlText(documentIn(answer), 'UploadId');
  if (id === undefined || id === '') throw new BrokenAnswer('CreateMultipartUpload answered no upload id');
  return id;
}
