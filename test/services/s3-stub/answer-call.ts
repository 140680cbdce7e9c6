import type { IncomingMessage } from 'node:http';
import type { BlobStorage } from './blob.ts';
import { readDeclaredIntegrity } from './declared-integrity.ts';
import type { FaultStage } from './fault-rules.ts';
import { memoryBlobs } from './memory-blobs.ts';
import type { Answer, StubContext } from './operation.ts';
import type { ReadCall } from './read-call.ts';
import { receiveBody } from './receive-body.ts';
import { s3Error } from './s3-error.ts';
import { bodyFault } from './strike-faults.ts';
import { type Credentials, verifySignature } from './verify-signature.ts';

/** Without x-amz-meta-*, which are all accepted. */
const knownHeaders = new Set([
  'x-amz-checksum-algorithm',
  'x-amz-checksum-crc32',
  'x-amz-checksum-mode',
  'x-amz-checksum-type',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-user-agent',
]);
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

export interface AnswerCallContext {
  readonly stub: StubContext;
  readonly bucketName: string;
  readonly credentials: Credentials;
  readonly storage: BlobStorage;
}

export interface Exchange extends ReadCall {
  readonly req: IncomingMessage;
  strike(stage: FaultStage): Promise<void>;
}

/** Verifies, reads the body, does the work. Whatever fails before the work is done leaves nothing. */
export async function answerCall(exchange: Exchange, context: AnswerCallContext): Promise<Answer> {
  const { req, call, handler, strike } = exchange;
  await strike('before-body');
  const payloadHash = verifyHead(exchange, context);
  handler.check?.(call, context.stub);
  const inBody = bodyFault(exchange.faults, req.socket);
  const crc32 = handler.checksumOfObject ? undefined : call.header('x-amz-checksum-crc32');
  const body = await receiveBody({
    source: req,
    declared: readDeclaredIntegrity(crc32, payloadHash),
    storage: handler.body === 'blob' ? context.storage : memoryBlobs,
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

/** Answers x-amz-content-sha256. */
function verifyHead(
  { req, call, handler }: Exchange,
  { bucketName, credentials }: AnswerCallContext,
): string {
  const payloadHash = verifySignature(
    { method: req.method ?? '', url: req.url ?? '/', headerValues: (name) => req.headersDistinct[name] },
    call.headerNames,
    credentials,
    Date.now(),
  );
  if (call.bucket !== bucketName) {
    throw s3Error('NoSuchBucket', 'The specified bucket does not exist', { BucketName: call.bucket });
  }
  refuseUnknownHeaders(call.headerNames);
  if (handler.body === 'blob' && call.header('content-length') === undefined) {
    throw s3Error('MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  return payloadHash;
}

/** Headers that would change the meaning of a request and are unknown here are refused, not ignored. */
function refuseUnknownHeaders(names: Iterable<string>): void {
  for (const name of names) {
    const unknown = name.startsWith('x-amz-') && !name.startsWith('x-amz-meta-') && !knownHeaders.has(name);
    if (unknown || conditions.includes(name)) {
      throw s3Error('NotImplemented', `A header you provided is not implemented by the stub: ${name}`);
    }
  }
}
