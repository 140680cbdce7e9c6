import type { Blob } from './blob.ts';
import type { BucketState } from './bucket-state.ts';
import type { OperationName } from './operation-name.ts';
import type { Query } from './query.ts';
import type { ReceivedBody } from './receive-body.ts';

/** One request, routed and with its signature verified. */
export interface S3Call {
  readonly operation: OperationName;
  readonly bucket: string;
  /** Empty for requests to the bucket. */
  readonly key: string;
  readonly query: Query;
  header(name: string): string | undefined;
  /** All header names, lower-case. */
  readonly headerNames: readonly string[];
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
  /** Ascending as text. */
  newUploadId(): string;
  newEtag(): string;
}

export interface Operation {
  /** `document`: a small body in memory, possibly empty. `blob`: stored bytes. */
  readonly body: 'document' | 'blob';
  /** x-amz-checksum-crc32 speaks of the whole object, not of this request's body. */
  readonly checksumOfObject?: true;
  /** Refuses what can be refused before the body is read. */
  check?(call: S3Call, stub: StubContext): void;
  /** Synchronous, so that nothing comes between its checks and its changes. */
  run(call: S3Call, stub: StubContext, body: ReceivedBody): Answer;
}
