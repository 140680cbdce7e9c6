import type { IncomingMessage } from 'node:http';
import { refuseUnknownHeaders } from './accepted-headers.ts';
import type { BlobStorage } from './blob.ts';
import type { FaultStage } from './fault-rules.ts';
import { memoryBlobs } from './memory-blobs.ts';
import type { Answer, StubContext } from './operation.ts';
import type { ReadCall } from './read-call.ts';
import { receiveBody } from './receive-body.ts';
import { s3Error } from './s3-error.ts';
import { bodyFault } from './strike-faults.ts';
import { type Credentials, type VerifiedRequest, verifySignature } from './verify-signature.ts';

/** "Maximum object size in a single PUT: 5 GB": https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
const maxPutBytes = 5 * 1024 ** 3;
/** Room for 10,000 parts with checksums. */
const maxDocumentBytes = 4 * 1024 ** 2;

export interface AnswerCallContext {
  readonly stub: StubContext;
  readonly bucketName: string;
  readonly credentials: Credentials;
  readonly storage: BlobStorage;
  readonly verifyDigests: boolean;
}

export interface Exchange extends ReadCall {
  readonly req: IncomingMessage;
  strike(stage: FaultStage): Promise<void>;
  /** Called when nothing speaks against reading the body. */
  wantBody(): void;
}

/** Verifies, reads the body, does the work. Whatever fails before the work is done leaves nothing. */
export async function answerCall(exchange: Exchange, context: AnswerCallContext): Promise<Answer> {
  const { req, call, handler, strike } = exchange;
  await strike('before-body');
  const verified = verifyHead(exchange, context);
  handler.check?.(call, context.stub);
  exchange.wantBody();
  const inBody = bodyFault(exchange.faults, req.socket);
  const isBlob = handler.body === 'blob';
  const body = await receiveBody({
    source: req,
    header: (name) =>
      handler.checksumOfObject && name === 'x-amz-checksum-crc32' ? undefined : call.header(name),
    verified,
    storage: isBlob ? context.storage : memoryBlobs,
    maxBytes: isBlob ? maxPutBytes : maxDocumentBytes,
    verifyDigests: context.verifyDigests || !isBlob,
    onRaw: inBody.onRaw,
  });
  let answer: Answer;
  try {
    inBody.onEnd();
    await strike('after-body');
    answer = handler.run(call, context.stub, body);
  } catch (error) {
    await body.blob.drop();
    throw error;
  }
  await strike('after-work');
  return answer;
}

function verifyHead(
  { req, call, handler }: Exchange,
  { bucketName, credentials }: AnswerCallContext,
): VerifiedRequest {
  const verified = verifySignature(
    { method: req.method ?? '', url: req.url ?? '/', headerValues: (name) => req.headersDistinct[name] },
    call.headerNames,
    credentials,
    Date.now(),
  );
  if (call.bucket !== bucketName) {
    throw s3Error('NoSuchBucket', 'The specified bucket does not exist', { BucketName: call.bucket });
  }
  refuseUnknownHeaders(call.headerNames);
  const hasLength =
    call.header('content-length') !== undefined || call.header('transfer-encoding') !== undefined;
  if (handler.body === 'blob' && !hasLength) {
    throw s3Error('MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  return verified;
}
