/** What a collector of OpenTelemetry receives about requests. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type ReceivedSpan, startOtlpReceiver } from '../services/otlp-receiver.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startFaultyClickhouse } from '../services/start-faulty-clickhouse.ts';
import { removeData, type Sluice, sluiceFor, startSluice } from '../services/start-sluice.ts';

const receiver = await startOtlpReceiver();
const stub = await startS3Stub();
const engine = await startFaultyClickhouse();
const traced = {
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=secret-of-the-collector',
  OTEL_BSP_SCHEDULE_DELAY: '50',
};
t.teardown(async () => {
  await receiver.close();
  await stub.close();
  await engine.close();
});

async function serve(t: Test, env: Record<string, string> = {}): Promise<Sluice> {
  const sluice = await sluiceFor(t, { env: { ...traced, ...env } });
  return sluice;
}

const newTrace = () => randomBytes(16).toString('hex');
const parent = '00f067aa0ba902b7';
const under = (traceId: string, flags = '01') => ({ traceparent: `00-${traceId}-${parent}-${flags}` });
const serverSpan = (spans: readonly ReceivedSpan[]) => spans.find(({ kind }) => kind === 2);
const ended = (spans: readonly ReceivedSpan[]) => serverSpan(spans) !== undefined;
const structure = structureOf('shop', 'people', fieldsOf('email TEXT unique'));
const path = '/shop/people';

const upload = (sluice: Sluice, bytes: number, headers: Record<string, string>, name = 'a.bin') => {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(bytes)]), name);
  return fetch(`${sluice.baseUrl}/_f_/shop/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sluice.token}`, ...headers },
    body,
  });
};

t.test('a request is a span of the trace that it comes with, and its calls are spans of it', async (t) => {
  const sluice = await serve(t, {
    OTEL_SERVICE_NAME: 'sluice-under-test',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  const traceId = newTrace();
  const headers = { ...under(traceId), tracestate: 'vendor=1', 'x-request-id': 'traced-0001' };
  await call({ ...sluice, path, structure, body: [{ email: 'ada@x' }], headers });
  const spans = await receiver.trace(traceId, ended);
  const server = serverSpan(spans);
  t.match(server, {
    parentSpanId: parent,
    name: 'POST /:project/:space',
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/:project/:space',
      'http.response.status_code': 200,
      'sluice.operation': 'insert',
      'sluice.request_id': 'traced-0001',
      'user.id': String,
    },
    resource: { 'service.name': 'sluice-under-test', 'deployment.environment.name': 'test' },
  });
  t.notOk(server?.status?.code, 'no error');
  const calls = spans.filter(({ kind }) => kind === 3);
  t.ok(calls.some(({ name }) => name === 'engine insert'));
  for (const span of calls) {
    t.equal(span.parentSpanId, server?.spanId, span.name);
    t.match(span.attributes, { 'db.system.name': 'clickhouse', 'db.operation.name': String });
    t.ok(BigInt(span.startTimeUnixNano) >= BigInt(server?.startTimeUnixNano ?? 0));
    t.ok(BigInt(span.endTimeUnixNano) <= BigInt(server?.endTimeUnixNano ?? 0));
  }
  t.match(receiver.requests.at(-1), {
    path: '/v1/traces',
    headers: { 'x-api-key': 'secret-of-the-collector' },
  });
  const refused = newTrace();
  await call({ ...sluice, token: 'wrong', path, structure, headers: under(refused) });
  const refusal = serverSpan(await receiver.trace(refused, ended));
  t.match(refusal, { attributes: { 'http.response.status_code': 401, 'error.type': 'unauthorized' } });
  t.notOk(refusal?.status?.code, 'what a client does wrong is no error of the server');
});

t.test('parts of a file and statements tell S3 and ClickHouse which trace they belong to', async (t) => {
  const sluice = await serve(t, {
    ...stubSettings(stub),
    S3_REQUEST_TIMEOUT_MS: '2000',
    UPLOAD_PART_BYTES: '5242880',
    CLICKHOUSE_URL: engine.url,
  });
  const traceId = newTrace();
  t.equal((await upload(sluice, 11_000_000, under(traceId))).status, 200);
  const spans = await receiver.trace(traceId, ended);
  const server = serverSpan(spans);
  const names = spans.filter(({ kind }) => kind === 3).map(({ name }) => name);
  t.equal(names.filter((name) => name === 's3 UploadPart').length, 3);
  for (const name of ['s3 CreateMultipartUpload', 's3 CompleteMultipartUpload', 'engine insert']) {
    t.ok(names.includes(name), name);
  }
  for (const span of spans) if (span !== server) t.equal(span.parentSpanId, server?.spanId, span.name);
  const told = [...stub.requests, ...engine.seen].map(({ traceparent }) => traceparent);
  for (const name of ['s3 UploadPart', 's3 CompleteMultipartUpload', 'engine insert']) {
    for (const span of spans.filter((span) => span.name === name)) {
      t.ok(told.includes(`00-${traceId}-${span.spanId}-01`), `${name} tells its span`);
    }
  }
  const failing = newTrace();
  const action = { kind: 'error', status: 500, code: 'InternalError' } as const;
  const fault = stub.fault({ operation: 'PutObject', action });
  await (await upload(sluice, 10, under(failing))).text();
  fault.remove();
  const failed = await receiver.trace(failing, ended);
  t.match(serverSpan(failed), { status: { code: 2 }, attributes: { 'error.type': String } });
  const tries = failed.filter(({ name }) => name === 's3 PutObject');
  t.ok(tries.length > 1, 'each attempt is a span');
  for (const span of tries) t.match(span, { status: { code: 2 }, attributes: { 'rpc.method': 'PutObject' } });
});

t.test('no token and no value is exported, wherever a client puts it', async (t) => {
  const sluice = await serve(t);
  const traceId = newTrace();
  const { token } = sluice;
  const headers = under(traceId);
  for (const path of [
    `/${token}/a`,
    `/shop/people?email=${token}`,
    `/_f_/shop/${token}?signature=${token}`,
  ]) {
    await call({ ...sluice, path, structure, headers });
    await call({ ...sluice, path, structure, headers, body: [{ email: token, [token]: 1 }] });
  }
  await (await upload(sluice, 10, { ...headers, 'x-anything': token }, `${token}.jpg`)).text();
  await receiver.trace(traceId, (spans) => spans.filter(({ kind }) => kind === 2).length === 7);
  t.notOk(receiver.text().includes(token));
  t.notMatch(receiver.text(), /shop|people|ada@x/);
});

t.test('the sampler decides, and so does who asks', async (t) => {
  const sampled = await serve(t);
  const asked = newTrace();
  await call({ ...sampled, path, structure, headers: under(asked, '00') });
  const odd = ['00-0-0-01', 'nonsense', `00-${'0'.repeat(32)}-${parent}-01`, `ff-${asked}-${parent}-01`];
  for (const traceparent of odd) {
    t.equal((await call({ ...sampled, path, structure, headers: { traceparent } })).status, 200);
  }
  const never = await serve(t, {
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
    OTEL_SERVICE_NAME: 'never',
  });
  await call({ ...never, path, structure, headers: under(newTrace()) });
  t.equal(await never.stop(), 0, 'all that there is has been sent');
  const last = newTrace();
  await call({ ...sampled, path, structure, headers: under(last) });
  await receiver.trace(last, ended);
  const { spans } = receiver;
  t.equal(spans.filter(({ traceId }) => traceId === asked).length, 0, 'not sampled by who asks');
  t.equal(spans.filter(({ resource }) => resource['service.name'] === 'never').length, 0);
});

t.test('protobuf is what a collector gets when nothing else is asked for', async (t) => {
  const count = receiver.requests.length;
  const sluice = await serve(t, { OTEL_EXPORTER_OTLP_PROTOCOL: '' });
  await call({ ...sluice, path, structure });
  while (receiver.requests.length === count) await sleep(20);
  t.equal(receiver.requests.at(-1)?.headers['content-type'], 'application/x-protobuf');
  t.match(receiver.text(), /POST|GET/);
});

t.test('what was not sent is sent at the stop; a collector that is away disturbs nobody', async (t) => {
  const sluice = await startSluice({ env: { ...traced, OTEL_BSP_SCHEDULE_DELAY: '3600000' } });
  const traceId = newTrace();
  await call({ ...sluice, path, structure, headers: under(traceId) });
  t.equal(await sluice.stop(), 0);
  await receiver.trace(traceId, ended);
  await removeData(sluice);

  const alone = await serve(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
  });
  for (let i = 0; i < 20; i++) t.equal((await call({ ...alone, path, structure })).status, 200);
  while (!alone.stderr().includes('traces may be missing')) await sleep(20);
  t.notMatch(alone.stderr(), 'secret-of-the-collector');
});

t.test('without a collector nothing of the SDK is loaded', async (t) => {
  const sluice = await sluiceFor(t, { env: { NODE_DEBUG: 'module,esm' } });
  t.match(sluice.stderr(), /prom-client/);
  t.notMatch(sluice.stderr(), /@opentelemetry\/(sdk|exporter|otlp|resources)/);
});
