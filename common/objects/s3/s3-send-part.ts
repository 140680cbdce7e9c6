import type { Attempt } from '#kernel/limits/deadline.ts';
import type { Part } from '../object-store.ts';
import { readFailure, type S3Sender } from './s3-sender.ts';

/** PutObject or UploadPart: the two requests with large bodies. */
export interface PartRequest {
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly part: Pick<Part, 'chunks' | 'size'>;
}

/** Sends the bytes of a part and returns its ETag. Settles like an S3Sender. */
export type PartSender = (request: PartRequest, attempt: Attempt) => Promise<string>;

/** Sends parts in one write of all chunks, with an unhashed payload that is protected by the signed CRC-32. */
export function createPartSender(send: S3Sender): PartSender {
  return async ({ key, query, headers, part: body }, attempt) => {
    const operation = query.partNumber === undefined ? 'PutObject' : 'UploadPart';
    const answer = await send({ operation, method: 'PUT', key, query, headers, body }, attempt);
    const etag = answer.headers.get('etag');
    if (answer.status === 200 && etag !== undefined) return etag;
    throw readFailure(answer);
  };
}
