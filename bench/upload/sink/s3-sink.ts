import type * as Uws from 'uWebSockets.js';
import { crc32 } from 'node:zlib';
import { loadUws } from '#server/http/uws.ts';
import { type ExpectedObject, isState, type ReceivedBytes, SinkObjects } from './sink-objects.ts';
import { Throttle } from './throttle.ts';

/**
 * The store behind all measurements: it answers the S3 calls of an upload with as little work as possible, to leave the CPU
 * to the gateway. It computes checksums of all received bytes, but only stores the states and plans of uploads: other
 * objects are read as zeros. It ignores signatures. `POST /plain` accepts a plain body, for a proxy that does not speak S3. It can limit the rate of each body,
 * like a distant S3.
 */
const objects = new SinkObjects();
const throttle = new Throttle();
let plainBodies = 0;
/** The bytes of all objects that are no states, as they are read. */
const zeros = Buffer.alloc(1024 * 1024);

const app = loadUws().App();
app.any('/*', (res, req) => {
  // req is only valid until the first return to the event loop
  const call: Call = {
    method: req.getMethod().toUpperCase(),
    key: decodeURIComponent(req.getUrl().slice(1)),
    query: new URLSearchParams(req.getQuery() ?? ''),
    range: req.getHeader('range'),
    crc32: req.getHeader('x-amz-checksum-crc32'),
    creates: req.getHeader('if-none-match') === '*',
    chunked: req.getHeader('x-amz-content-sha256').startsWith('STREAMING-'),
  };
  const hasBody =
    req.getHeader('transfer-encoding') !== '' || Number(req.getHeader('content-length') || 0) > 0;
  let aborted = false;
  const body = hasBody && call.method === 'PUT' ? throttle.begin() : null;
  res.onAborted(() => {
    aborted = true;
    body?.end();
  });
  if (!hasBody) {
    answer(res, call, { size: 0, crc32: 0 }, '');
    return;
  }
  const keepsText = (call.method === 'POST' && call.key !== 'plain') || isState(call.key);
  let size = 0;
  let checksum = 0;
  let text = '';
  let paused = false;
  let over = false;
  /** Resumes when the bytes so far have taken as long as they should. */
  const goOn = (): void => {
    if (aborted) return;
    const wait = body?.millisecondsAhead(size) ?? 0;
    if (wait > 0) {
      if (!paused) res.pause();
      paused = true;
      // buffered bytes may still arrive, and delay it
      setTimeout(goOn, wait);
      return;
    }
    if (paused) res.resume();
    paused = false;
    if (!over) return;
    body?.end();
    answer(res, call, { size, crc32: checksum, ...(isState(call.key) && { text }) }, text);
  };
  res.onData((chunk, isLast) => {
    size += chunk.byteLength;
    if (chunk.byteLength > 0) checksum = crc32(new Uint8Array(chunk), checksum);
    if (keepsText) text += Buffer.from(chunk).toString('latin1');
    over = isLast;
    if (!paused) goOn();
  });
});

interface Call {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  /** As sent. */
  readonly range: string;
  readonly crc32: string;
  /** Refused if there is an object. */
  readonly creates: boolean;
  /** The body is framed as aws-chunked, which this store does not read. */
  readonly chunked: boolean;
}

function answer(res: Uws.HttpResponse, call: Call, body: ReceivedBytes, text: string): void {
  res.cork(() => {
    if (call.method === 'POST' && call.key === 'plain') answerPlain(res, body);
    else if (call.chunked) fail(res, '501 Not Implemented', 'NotImplemented');
    else if (call.method === 'PUT') answerPut(res, call, body);
    else if (call.method === 'POST') answerPost(res, call, text);
    else if (call.method === 'DELETE') answerDelete(res, call);
    else if (call.method === 'HEAD') answerHead(res, call);
    else answerGet(res, call);
  });
}

function answerPlain(res: Uws.HttpResponse, body: ReceivedBytes): void {
  const name = `plain-${++plainBodies}`;
  objects.count('plain');
  objects.put(name, body);
  res.writeHeader('content-type', 'application/json').end(JSON.stringify({ name }));
}

function answerPut(res: Uws.HttpResponse, call: Call, body: ReceivedBytes): void {
  const { key, query, crc32: sent } = call;
  const uploadId = query.get('uploadId');
  objects.count(uploadId === null ? 'PutObject' : 'UploadPart');
  const checksum = base64Of(body.crc32);
  if (sent !== '' && sent !== checksum) {
    objects.noteBadDigest();
    fail(res, '400 Bad Request', 'BadDigest');
    return;
  }
  if (call.creates && objects.get(key) !== undefined) {
    fail(res, '412 Precondition Failed', 'PreconditionFailed');
    return;
  }
  if (uploadId === null) objects.put(key, body);
  else if (!objects.putPart(uploadId, Number(query.get('partNumber')), body)) {
    fail(res, '404 Not Found', 'NoSuchUpload');
    return;
  }
  res.writeHeader('etag', etagOf(body));
  if (sent !== '') res.writeHeader('x-amz-checksum-crc32', checksum);
  res.end();
}

function answerPost(res: Uws.HttpResponse, { key, query }: Call, text: string): void {
  const uploadId = query.get('uploadId');
  if (uploadId === null && query.has('uploads')) {
    objects.count('CreateMultipartUpload');
    xml(
      res,
      `<InitiateMultipartUploadResult><Bucket>${bucketOf(key)}</Bucket><Key>${keyOf(key)}</Key>` +
        `<UploadId>${objects.begin(key)}</UploadId></InitiateMultipartUploadResult>`,
    );
    return;
  }
  if (uploadId === null && query.has('delete')) {
    objects.count('DeleteObjects');
    for (const [, name = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g))
      objects.delete(`${bucketOf(key)}/${name}`);
    xml(res, '<DeleteResult></DeleteResult>');
    return;
  }
  if (uploadId === null) {
    objects.count('other POST');
    fail(res, '501 Not Implemented', 'NotImplemented');
    return;
  }
  objects.count('CompleteMultipartUpload');
  const numbers = [...text.matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) => Number(number));
  const object = objects.complete(uploadId, numbers);
  if (object === false) fail(res, '400 Bad Request', 'InvalidPart');
  else {
    xml(
      res,
      `<CompleteMultipartUploadResult><Bucket>${bucketOf(key)}</Bucket><Key>${keyOf(key)}</Key>` +
        `<ETag>${etagOf(object)}</ETag></CompleteMultipartUploadResult>`,
    );
  }
}

function answerDelete(res: Uws.HttpResponse, { key, query }: Call): void {
  const uploadId = query.get('uploadId');
  objects.count(uploadId === null ? 'DeleteObject' : 'AbortMultipartUpload');
  if (uploadId === null) objects.delete(key);
  else objects.abort(uploadId);
  res.writeStatus('204 No Content').endWithoutBody();
}

function answerHead(res: Uws.HttpResponse, { key }: Call): void {
  if (keyOf(key) === '') {
    objects.count('HeadBucket');
    res.endWithoutBody(0);
    return;
  }
  objects.count('HeadObject');
  const object = objects.get(key);
  if (object === undefined) res.writeStatus('404 Not Found').endWithoutBody(0);
  else {
    res.writeHeader('etag', etagOf(object)).writeHeader('last-modified', new Date().toUTCString());
    // with the length as its argument, the server would wait for a body, and cut the connection
    res.writeHeader('content-length', `${object.size}`).endWithoutBody();
  }
}

function answerGet(res: Uws.HttpResponse, { key, query, range }: Call): void {
  const bucket = bucketOf(key);
  if (query.has('uploads')) {
    objects.count('ListMultipartUploads');
    xml(
      res,
      `<ListMultipartUploadsResult><Bucket>${bucket}</Bucket><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`,
    );
  } else if (query.has('list-type')) {
    objects.count('ListObjectsV2');
    xml(
      res,
      `<ListBucketResult><Name>${bucket}</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>`,
    );
  } else if (query.has('uploadId')) {
    objects.count('ListParts');
    answerParts(res, query.get('uploadId') ?? '');
  } else {
    objects.count('GetObject');
    answerObject(res, objects.get(key), range);
  }
}

/** The bytes of an object, or those from its beginning that a range asks for. */
function answerObject(res: Uws.HttpResponse, object: ReceivedBytes | undefined, range: string): void {
  const asked = /^bytes=0-(\d+)$/.exec(range)?.[1];
  const size =
    object === undefined ? 0 : Math.min(object.size, asked === undefined ? object.size : Number(asked) + 1);
  if (object === undefined || (object.text === undefined && size > zeros.byteLength)) {
    fail(res, '404 Not Found', 'NoSuchKey');
    return;
  }
  const bytes =
    object.text === undefined
      ? zeros.subarray(0, size)
      : Buffer.from(object.text, 'latin1').subarray(0, size);
  if (asked !== undefined && object.size > 0)
    res.writeStatus('206 Partial Content').writeHeader('content-range', `bytes 0-${size - 1}/${object.size}`);
  res.writeHeader('etag', etagOf(object)).end(bytes);
}

function answerParts(res: Uws.HttpResponse, uploadId: string): void {
  const parts = objects.parts(uploadId);
  if (parts === undefined) {
    fail(res, '404 Not Found', 'NoSuchUpload');
    return;
  }
  const listed = [...parts].map(
    ([number, part]) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etagOf(part)}</ETag><Size>${part.size}</Size></Part>`,
  );
  xml(res, `<ListPartsResult>${listed.join('')}<IsTruncated>false</IsTruncated></ListPartsResult>`);
}

function xml(res: Uws.HttpResponse, document: string): void {
  res
    .writeHeader('content-type', 'application/xml')
    .end(`<?xml version="1.0" encoding="UTF-8"?>\n${document}`);
}

function fail(res: Uws.HttpResponse, status: string, code: string): void {
  res.writeStatus(status);
  xml(res, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function bucketOf(path: string): string {
  return path.split('/', 1)[0] as string;
}

/** The key after the bucket; may be empty. */
function keyOf(path: string): string {
  const slash = path.indexOf('/');
  return slash === -1 ? '' : path.slice(slash + 1);
}

function base64Of(checksum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(checksum);
  return bytes.toString('base64');
}

function etagOf({ size, crc32: checksum }: ReceivedBytes): string {
  return `"${checksum.toString(16).padStart(8, '0')}${size.toString(16).padStart(24, '0')}"`;
}

export type SinkCommand =
  | { readonly type: 'forget' }
  | { readonly type: 'problems'; readonly expected: readonly ExpectedObject[] }
  | { readonly type: 'report' }
  /** Bytes per second of each body; 0: no limit. Restarts the count of connections in use. */
  | { readonly type: 'throttle'; readonly bytesPerSecond: number }
  | { readonly type: 'connections' };

function reply(command: SinkCommand): unknown {
  switch (command.type) {
    case 'forget':
      return objects.forget();
    case 'problems':
      return objects.problems(command.expected);
    case 'report':
      return objects.report();
    case 'throttle':
      return throttle.set(command.bytesPerSecond);
    case 'connections':
      return throttle.report();
  }
}

process.on('message', (command: SinkCommand) => {
  process.send?.(reply(command) ?? null);
});
process.once('disconnect', () => process.exit());

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port of 127.0.0.1 can be listened on');
  process.stdout.write(`sink listens on http://127.0.0.1:${loadUws().us_socket_local_port(socket)}\n`);
});
