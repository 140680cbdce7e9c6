import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createMetrics } from '#kernel/telemetry/create-metrics.ts';
import type { FinishedRequest } from '#kernel/telemetry/http-observer.ts';
import { renderMetrics } from '#kernel/telemetry/render-metrics.ts';
import { metricsRoute } from '#process/process-routes/metrics-route.ts';
import { fakeRequest } from '../services/fake-request.ts';

const finished: FinishedRequest = {
  id: 'request-1',
  route: '',
  operation: '',
  method: 'GET',
  status: 200,
  seconds: 0,
  userId: null,
  project: '',
  bytesIn: 0,
  bytesOut: 0,
};

t.test(
  'requests are counted by pattern, method and status, and by nothing that clients choose',
  async (t) => {
    const metrics = createMetrics({ worker: 3 });
    const { observer } = metrics;
    const find = { ...finished, route: '/:project/:space', operation: 'find', method: 'GET' };
    observer.answered({ ...find, seconds: 0.002, bytesOut: 10 });
    observer.answered({ ...find, seconds: 0.2, bytesOut: 5 });
    observer.answered({ ...finished, method: 'BREW', status: 405 });
    observer.answered({ ...finished, method: 'PROPFIND', status: 405 });
    const upload = { route: '/_f_/:project/upload', operation: 'upload', method: 'POST' };
    observer.answered({ ...finished, ...upload, status: null, seconds: 4 });
    observer.received('/_f_/:project/upload', 10);
    observer.received('/_f_/:project/upload', 5);
    let level = 7;
    metrics.gauge('level', 'a level', () => level);
    metrics.counter('total', 'a total', () => level);
    await metrics.json();
    level = 9;
    const text = await renderMetrics([await metrics.json()], [{ worker: 3, restarts: 2, answered: true }]);
    const lines = new Set(text.split('\n'));
    for (const line of [
      'sluice_http_requests_total{route="/:project/:space",method="GET",status="200",worker="3"} 2',
      'sluice_http_requests_total{route="none",method="other",status="405",worker="3"} 2',
      'sluice_http_requests_total{route="/_f_/:project/upload",method="POST",status="499",worker="3"} 1',
      'sluice_http_request_duration_seconds_bucket{le="0.0025",operation="find",status="200",worker="3"} 1',
      'sluice_http_request_duration_seconds_bucket{le="+Inf",operation="find",status="200",worker="3"} 2',
      'sluice_http_request_duration_seconds_count{operation="upload",status="499",worker="3"} 1',
      'sluice_http_request_duration_seconds_count{operation="none",status="405",worker="3"} 2',
      'sluice_http_response_body_bytes_total{route="/:project/:space",worker="3"} 15',
      'sluice_http_request_body_bytes_total{route="/_f_/:project/upload",worker="3"} 15',
      'level{worker="3"} 9',
      'total{worker="3"} 9',
      'sluice_worker_restarts_total{worker="3"} 2',
    ]) {
      t.ok(lines.has(line), line);
    }
    t.notMatch(text, /BREW|PROPFIND/);
  },
);

t.test('calls are timed by how they ended', async (t) => {
  const { observeCall, json } = createMetrics({ worker: 1 });
  const failing = (reason: unknown) => () => Promise.reject(reason);
  t.equal(await observeCall('engine', 'rows', async () => 7), 7, 'the answer is the answer');
  const gone = AbortSignal.abort(new Error('the client went away'));
  const late = AbortSignal.abort(new DOMException('too late', 'TimeoutError'));
  const refusal = new Error('404');
  for (const [reason, options] of [
    [new Error('broken'), {}],
    [late.reason, { signal: late }],
    [gone.reason, { signal: gone }],
    [refusal, { isMissing: (error: unknown) => error === refusal }],
  ] as const) {
    await t.rejects(observeCall('s3', 'HeadObject', failing(reason), options), reason as Error);
  }
  const text = await renderMetrics([await json()], []);
  const count = (labels: string) => `sluice_call_duration_seconds_count{${labels},worker="1"}`;
  t.match(text, `${count('system="engine",call="rows",outcome="ok"')} 1`);
  t.match(text, `${count('system="s3",call="HeadObject",outcome="error"')} 2`);
  t.match(text, `${count('system="s3",call="HeadObject",outcome="aborted"')} 1`);
  t.match(text, `${count('system="s3",call="HeadObject",outcome="missing"')} 1`);
});

t.test('the longest call since the last scrape is told, and forgotten then', async (t) => {
  const { observeCall, json } = createMetrics({ worker: 1 });
  const longest = async () => {
    const text = await renderMetrics([await json()], []);
    return Number(/^sluice_call_longest_seconds\{system="engine",worker="1"\} (.*)$/m.exec(text)?.[1]);
  };
  const began = performance.now();
  await observeCall('engine', 'rows', () => sleep(20));
  const whole = (performance.now() - began) / 1000;
  await observeCall('engine', 'rows', async () => {});
  const told = await longest();
  t.ok(told > 0.01 && told <= whole, `${told} of ${whole} s`);
  t.equal(await longest(), 0);
});

t.test('caches and batches', async (t) => {
  const metrics = createMetrics({ worker: 1 });
  const counts = metrics.cache('records');
  t.equal(counts.count(undefined), undefined);
  t.equal(counts.count(null), null);
  t.equal(counts.count('found'), 'found');
  t.equal(metrics.cache('records'), counts, 'a cache that is asked for twice is one');
  metrics.batch('record_lookups')(3);
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = await renderMetrics([await metrics.json()], []);
    t.match(text, 'sluice_cache_requests_total{cache="records",result="hit",worker="1"} 1');
    t.match(text, 'sluice_cache_requests_total{cache="records",result="miss",worker="1"} 2');
    t.match(text, 'sluice_batch_requests_bucket{le="4",batch="record_lookups",worker="1"} 1');
    t.match(text, 'sluice_batch_requests_bucket{le="2",batch="record_lookups",worker="1"} 0');
  }
});

t.test('series of several workers stand beside each other, also after a trip as JSON', async (t) => {
  const processes = await Promise.all(
    [1, 2].map(async (worker) => {
      const metrics = createMetrics({ worker });
      metrics.gauge('level', 'a level', () => worker * 10);
      metrics.gauge('average_of_nothing', 'not a number', () => Number.NaN);
      return JSON.parse(JSON.stringify(await metrics.json())) as object[];
    }),
  );
  const text = await renderMetrics(processes, []);
  t.match(text, 'level{worker="1"} 10\nlevel{worker="2"} 20');
  t.equal(text.match(/^# TYPE level gauge$/gm)?.length, 1);
  t.notMatch(text, /null|NaN/i);
});

t.test('with a token, who has it may read; without one, only this machine itself', async (t) => {
  const read = async () => 'numbers';
  const open = metricsRoute({ token: undefined, read });
  t.equal(open.localOnly, true);
  t.match(await open.handler(fakeRequest()), { status: 200, body: 'numbers' });
  const guarded = metricsRoute({ token: 'a-token-of-its-own', read });
  t.equal(guarded.localOnly, false);
  for (const authorization of ['', 'Bearer', 'Bearer a-token-of-its-owm', 'a-token-of-its-own']) {
    await t.rejects(Promise.resolve(guarded.handler(fakeRequest({ headers: { authorization } }))), {
      code: 'unauthorized',
    });
  }
  const headers = { authorization: 'Bearer a-token-of-its-own' };
  t.match(await guarded.handler(fakeRequest({ headers })), { status: 200, body: 'numbers' });
});

t.test('who asks at the same time shares one reading', async (t) => {
  let readings = 0;
  let finish: (text: string) => void = () => {};
  const route = metricsRoute({
    token: undefined,
    read: () => {
      readings++;
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
  });
  const both = [route.handler(fakeRequest()), route.handler(fakeRequest())];
  finish('numbers');
  for (const answer of await Promise.all(both)) t.match(answer, { body: 'numbers' });
  t.equal(readings, 1);
  const third = route.handler(fakeRequest());
  finish('new numbers');
  t.match(await third, { body: 'new numbers' });
});
