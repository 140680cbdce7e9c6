import { setTimeout as sleep } from 'node:timers/promises';
import { S3ServiceException } from '@aws-sdk/client-s3';
import t from 'tap';
import { ApiError } from '#kernel/errors/api-error.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';
import { isRefusal, isTransient, S3Failure, storageError } from '#objects/s3/s3-failure.ts';
import { readFailure } from '#objects/s3/s3-sender.ts';

const systemError = (code: string) => Object.assign(new Error(code), { code });
const ofSdk = (status: number, name: string, headers: Record<string, string> = {}) =>
  Object.assign(
    new S3ServiceException({
      name,
      $fault: 'server',
      message: 'told by the SDK',
      $metadata: { httpStatusCode: status },
    }),
    { $response: { headers } },
  );

t.test('what is worth another attempt', async (t) => {
  for (const status of [408, 429, 500, 502, 503, 504, 520]) {
    t.ok(isTransient(new S3Failure(status, 'X', '')), `${status}`);
    t.ok(isTransient(ofSdk(status, 'X')), `${status} of the SDK`);
  }
  for (const status of [301, 307, 400, 401, 403, 404, 409, 411, 412, 501]) {
    t.notOk(isTransient(new S3Failure(status, 'X', '')), `${status}`);
    t.notOk(isTransient(ofSdk(status, 'X')), `${status} of the SDK`);
  }
  t.ok(isTransient(new S3Failure(400, 'RequestTimeout', '')));
  t.ok(isTransient(ofSdk(200, 'InternalError')));
  t.ok(isTransient(new DeadlinePassed('x', 1)));
  for (const code of [
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ECONNREFUSED',
    'EAI_AGAIN',
    'HPE_INVALID_EOF_STATE',
  ]) {
    t.ok(isTransient(systemError(code)), code);
  }
  for (const error of [
    new Error('a bug'),
    new TypeError('x'),
    systemError('CERT_HAS_EXPIRED'),
    'text',
    null,
  ]) {
    t.notOk(isTransient(error), `${error}`);
  }
});

t.test('what is sure to have changed nothing', async (t) => {
  for (const error of [
    new S3Failure(403, 'AccessDenied', ''),
    ofSdk(404, 'NoSuchUpload'),
    systemError('ECONNREFUSED'),
    systemError('DEPTH_ZERO_SELF_SIGNED_CERT'),
    systemError('ERR_TLS_CERT_ALTNAME_INVALID'),
    Object.assign(new Error('no keys'), { name: 'CredentialsProviderError' }),
  ]) {
    t.ok(isRefusal(error), `${error}`);
  }
  for (const error of [
    new S3Failure(500, 'InternalError', ''),
    new S3Failure(200, 'InternalError', ''),
    ofSdk(503, 'SlowDown'),
    systemError('ECONNRESET'),
    new DeadlinePassed('x', 1),
    new Error('a bug'),
  ]) {
    t.notOk(isRefusal(error), `${error}`);
  }
});

t.test('error answers are read', async (t) => {
  const xml =
    '<?xml version="1.0"?>\n<Error><Code>NoSuchUpload</Code><Message>It is &lt;gone&gt;.</Message><Region>eu-west-3</Region></Error>';
  t.match(readFailure({ status: 404, reason: 'Not Found', headers: new Map(), text: xml }), {
    status: 404,
    code: 'NoSuchUpload',
    message: 'It is &lt;gone&gt;.',
    bucketRegion: 'eu-west-3',
  });
  t.match(
    readFailure({ status: 502, reason: 'Bad Gateway', headers: new Map(), text: '<html>nginx</html>' }),
    {
      status: 502,
      code: 'Http502',
      message: 'Bad Gateway',
      bucketRegion: undefined,
    },
  );
  t.equal(
    readFailure({
      status: 301,
      reason: '',
      headers: new Map([['x-amz-bucket-region', 'eu-west-1']]),
      text: '',
    }).bucketRegion,
    'eu-west-1',
  );
});

t.test('an error says what failed, and where the bucket is', async (t) => {
  const cause = new S3Failure(301, 'PermanentRedirect', 'Use another endpoint', 'eu-west-1');
  const error = storageError('PutObject', 'o/p/n', cause);
  t.equal(
    error.message,
    'S3 failed at PutObject of "o/p/n": 301 PermanentRedirect: Use another endpoint; the bucket is in the region eu-west-1: set S3_REGION',
  );
  t.equal(error.cause, cause);
  const moved = ofSdk(301, '301', { 'x-amz-bucket-region': 'eu-west-2' });
  t.match(storageError('HeadBucket', '', moved).message, /^S3 failed at HeadBucket: 301 .*eu-west-2/);
  t.notMatch(
    storageError('HeadObject', 'k', ofSdk(403, 'X', { 'x-amz-bucket-region': 'eu-west-2' })).message,
    /eu/,
  );
  t.match(storageError('PutObject', 'k', systemError('ECONNRESET')).message, /ECONNRESET/);
});

t.test('what the operator has to put right is one sentence, and a 503 to clients', async (t) => {
  const problems: readonly (readonly [unknown, RegExp])[] = [
    [ofSdk(403, 'InvalidAccessKeyId'), /^S3 refuses the access key/],
    [ofSdk(403, 'SignatureDoesNotMatch'), /^S3 refuses the secret key/],
    [ofSdk(403, 'RequestTimeTooSkewed'), /^S3 refuses the time of this machine/],
    [ofSdk(404, 'NoSuchBucket'), /^the bucket does not exist/],
    [ofSdk(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-9' }), /the region eu-west-9/],
  ];
  for (const [thrown, wanted] of problems) {
    const error = storageError('PutObject', 'a/b', thrown);
    t.ok(error instanceof StoreUnavailable);
    t.match((error as StoreUnavailable).problem, wanted);
    const shown = visibleError(error);
    t.equal(shown.status, 503);
    t.ok(shown.headers['retry-after']);
    t.notMatch(shown.message, /key|bucket|region/, 'clients are not told');
  }
});

t.test('whatever the store answers, or its connection does, is a 503 with Retry-After', async (t) => {
  const away = storageError('PutObject', 'a/b', systemError('ECONNREFUSED'));
  t.ok(away instanceof StoreUnavailable && away.problem === undefined);
  t.equal(visibleError(away).status, 503);
  const refused = storageError('PutObject', 'a/b', ofSdk(403, 'AccessDenied'));
  t.ok(
    refused instanceof StoreUnavailable && visibleError(refused).status === 503,
    'a write that is refused',
  );
  for (const thrown of [
    new S3Failure(404, 'NoSuchKey', ''),
    new S3Failure(409, 'OperationAborted', ''),
    ofSdk(412, 'PreconditionFailed'),
    ofSdk(200, 'Error'),
    systemError('CERT_HAS_EXPIRED'),
    systemError('EADDRNOTAVAIL'),
    systemError('ERR_STREAM_PREMATURE_CLOSE'),
  ]) {
    const passing = storageError('GetObject', 'a/b', thrown);
    t.ok(passing instanceof StoreUnavailable && passing.problem === undefined, passing.message);
    t.equal(visibleError(passing).status, 503);
  }
  const unread = storageError('GetObject', 'a/b', ofSdk(403, 'AccessDenied'));
  t.match(unread, {
    problem:
      'S3 refuses GetObject (403 AccessDenied): check the rights of the key, and what this server supports',
  });
});

t.test(
  'a fault of ours stays an error, and the failure of a request within another stays what it is',
  async (t) => {
    for (const thrown of [new TypeError('x'), new Error('a bug'), 'text']) {
      const error = storageError('GetObject', 'a/b', thrown);
      t.notOk(error instanceof StoreUnavailable || error instanceof ApiError);
      t.equal(visibleError(error).status, 500);
    }
    const inner = storageError('ListMultipartUploads', 'a/b', systemError('ECONNRESET'));
    t.equal(storageError('AbortMultipartUpload', 'a/b', inner), inner);
    const busy = overloaded('too many requests wait for the object store');
    t.equal(storageError('HeadObject', 'a/b', busy), busy);
  },
);

t.test('a deadline of ours that passes is a 503', async (t) => {
  const signal = AbortSignal.timeout(1);
  // its timer alone does not keep the process
  while (!signal.aborted) await sleep(1);
  for (const late of [signal.reason, new DeadlinePassed('no answer', 1)]) {
    const shown = visibleError(late);
    t.match(shown, { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } });
  }
});
