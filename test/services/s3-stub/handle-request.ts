import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import { checksumText } from '#objects/s3/s3-checksums.ts';
import { memoryBlob, type OpenBlob } from './blobs.ts';
import { slowCrc32c } from './crc32c.ts';
import type { FaultAction, FaultRules, FaultStage } from './fault-rules.ts';
import {
  type Answer,
  type Operation,
  type OperationName,
  operations,
  type ReceivedBody,
  type S3Call,
  type StubContext,
} from './operations.ts';
import { ConnectionGone, S3Error, s3Error } from './s3-error.ts';
import { errorAnswer, sendAnswer } from './send-answer.ts';
import { bodyFault, strikeFaults } from './strike-faults.ts';
import { addressOf, type Credentials, verifySignature } from './verify-signature.ts';

export interface LoggedRequest {
  /** Null when it was none that the stub knows. */
  operation: OperationName | null;
  /** The header of that name. */
  readonly traceparent: string | undefined;
  /** Null while it is under way, and for ever when no answer went out. */
  status: number | null;
  /** The error code of the answer. */
  code: string | null;
  faults: readonly FaultAction['kind'][];
}

export interface HandlerContext {
  readonly stub: StubContext;
  readonly bucketName: string;
  readonly credentials: Credentials;
  readonly openBlob: OpenBlob;
  readonly faults: FaultRules;
  /** Lower-case names of headers that the server does not know. */
  readonly ignores: readonly string[];
  /** Lower-case names of headers that it refuses. */
  readonly refuses: readonly string[];
  /** All requests, oldest first. */
  readonly requests: LoggedRequest[];
}

/** One request from its head to its answer. Never rejects. */
export async function handleRequest(
  req: IncomingMessage,
  res: ServerResponse,
  context: HandlerContext,
): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  // who reads the body sees an abort as its end; node emits an error as well, which must have a listener
  req.on('error', () => {});
  res.on('error', () => {});
  const log: LoggedRequest = {
    operation: null,
    status: null,
    code: null,
    faults: [],
    traceparent: req.headers.traceparent as string | undefined,
  };
  context.requests.push(log);
  try {
    const call = readCall(req);
    const { key, query } = call;
    const name = operationOf(req.method, call);
    log.operation = name;
    const partNumber = query.has('partNumber') ? Number(query.get('partNumber')) : undefined;
    const struck = context.faults.take({ operation: name, key, partNumber });
    log.faults = struck.map(({ kind }) => kind);
    const strike = (stage: FaultStage): Promise<void> =>
      strikeFaults(struck, stage, { socket: req.socket, gone: gone.signal });
    const answer = await answerCall(req, call, { ...context, operation: operations[name], struck, strike });
    log.status = answer.status;
    await sendAnswer(res, answer, struck);
  } catch (error) {
    if (error instanceof ConnectionGone || res.headersSent) {
      log.status = null;
      res.destroy();
      return;
    }
    const shown = error instanceof S3Error ? error : s3Error('InternalError', String(error));
    log.status = shown.status;
    log.code = shown.code;
    // the rest of the body is drained, so that the client surely reads the answer
    req.resume();
    await sendAnswer(res, errorAnswer(shown, req.method === 'HEAD'), []).catch(() => res.destroy());
  }
}

/** Path-style: /bucket/key. */
function readCall(req: IncomingMessage): S3Call {
  const { pathname, searchParams: query } = addressOf(req);
  const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/s.exec(pathname) ?? [];
  return { bucket, key: decodeURIComponent(key), query, headers: req.headers };
}

function operationOf(method = '', { bucket, key, query }: S3Call): OperationName {
  const of = key === '' ? 'bucket' : 'object';
  const found = Object.entries<Operation>(operations).find(
    ([, operation]) =>
      operation.method === method &&
      operation.of === of &&
      (operation.needs ?? []).every((name) => query.has(name)),
  );
  if (bucket === '' || found === undefined)
    throw s3Error('NotImplemented', `The stub has no such operation: ${method} on ${of}`);
  return found[0] as OperationName;
}

/** Verifies, reads the body, does the work. Whatever fails before the work is done leaves nothing. */
async function answerCall(
  req: IncomingMessage,
  call: S3Call,
  context: HandlerContext & {
    readonly operation: Operation;
    readonly struck: readonly FaultAction[];
    strike(stage: FaultStage): Promise<void>;
  },
): Promise<Answer> {
  const { operation, strike } = context;
  await strike('before-body');
  await verifySignature(req, context.credentials);
  const refused = context.refuses.find((name) => req.headers[name] !== undefined);
  if (refused !== undefined) throw s3Error('NotImplemented', `The stub has no header ${refused}`);
  for (const name of context.ignores) delete req.headers[name];
  if (call.bucket !== context.bucketName) throw s3Error('NoSuchBucket', 'The bucket does not exist');
  const inBody = bodyFault(context.struck, req.socket);
  const body = await receiveBody(req, operation.stores ? context.openBlob : memoryBlob, {
    onRaw: inBody.onRaw,
    md5Etags: context.stub.md5Etags,
    // of a completion they are those of the whole object
    ...(operation.stores && {
      checksum: req.headers['x-amz-checksum-crc32'] as string | undefined,
      crc32c: req.headers['x-amz-checksum-crc32c'] as string | undefined,
      md5: req.headers['content-md5'] as string | undefined,
    }),
  });
  let answer: Answer;
  try {
    inBody.onEnd();
    await strike('after-body');
    answer = operation.run(call, context.stub, body);
  } catch (error) {
    await body.blob.drop();
    throw error;
  }
  await strike('after-work');
  return answer;
}

/** Reads a body to its end and verifies its checksum; when that fails nothing is kept. */
async function receiveBody(
  req: IncomingMessage,
  open: OpenBlob,
  expected: {
    readonly checksum?: string | undefined;
    readonly crc32c?: string | undefined;
    readonly md5?: string | undefined;
    readonly md5Etags: boolean;
    onRaw(bytes: number): void;
  },
): Promise<ReceivedBody> {
  const { checksum, crc32c, md5, md5Etags, onRaw } = expected;
  const writer = open();
  let sum = 0;
  let sumC = 0;
  const hash = md5 === undefined && !md5Etags ? null : createHash('md5');
  try {
    for await (const chunk of wholeBody(req)) {
      onRaw(chunk.length);
      sum = crc32(chunk, sum);
      if (crc32c !== undefined) sumC = slowCrc32c(chunk, sumC);
      hash?.update(chunk);
      await writer.write(chunk);
    }
    if (checksum !== undefined && checksum !== checksumText(sum))
      throw s3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
    if (crc32c !== undefined && crc32c !== checksumText(sumC))
      throw s3Error('BadDigest', 'The CRC32C you specified did not match the calculated checksum.');
    const digest = hash?.digest();
    if (md5 !== undefined && md5 !== digest?.toString('base64'))
      throw s3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.');
    const etag = md5Etags ? digest?.toString('hex') : undefined;
    return { blob: await writer.finish(), crc32: sum, checksum: checksum !== undefined, crc32c, etag };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** Rejects with ConnectionGone when the body ends too early. */
async function* wholeBody(req: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    throw new ConnectionGone();
  }
}
