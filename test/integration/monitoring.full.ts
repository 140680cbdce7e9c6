/** deploy/monitoring asks for nothing that the service does not tell, and the service tells what it should. */
import t from 'tap';
import { operations } from '#query/operations.ts';
import { alertExpressions, dashboardExpressions } from '../services/monitoring-expressions.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

const stub = await startS3Stub();
const sluice = await startSluice({ env: { ...stubSettings(stub), UPLOAD_PART_BYTES: '5242880' } });
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await stub.close();
});
const { baseUrl, token } = sluice;

const upload = async (bytes: number): Promise<Response> => {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(bytes)]), 'a.bin');
  const headers = { authorization: `Bearer ${token}` };
  return fetch(`${baseUrl}/_f_/secret-project/upload`, { method: 'POST', headers, body });
};
const structure = structureOf('secret-project', 'people', fieldsOf('email TEXT unique'));
const path = '/secret-project/people';
for (const bytes of [10, 11_000_000]) await (await upload(bytes)).json();
stub.fault({ operation: 'PutObject', times: 1, action: { kind: 'error', status: 503, code: 'SlowDown' } });
await (await upload(10)).json();
await call({ baseUrl, token, path, structure, body: [{ email: 'ada@x' }] });
for (let i = 0; i < 3; i++) {
  await call({ baseUrl, token, path: `${path}/_single_?email=ada@x`, structure });
}
// of a record that is not in memory
await call({ baseUrl, token, path: `${path}/_single_?id=nobody`, structure });
await call({ baseUrl, token: 'made-up', path, structure });
// it waits for the check of the store at the start, which makes calls of its own
await fetch(`${baseUrl}/readyz`);
const text = await (await fetch(`${baseUrl}/metrics`)).text();
const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const value = (series: string): number =>
  Number(
    lines
      .find((line) => line.startsWith(`${series}`))
      ?.split(' ')
      .at(-1) ?? 0,
  );

t.test('what happened is told', async (t) => {
  const duration = 'sluice_http_request_duration_seconds_count';
  const s3 = (name: string, outcome = 'ok') =>
    value(`sluice_call_duration_seconds_count{system="s3",call="${name}",outcome="${outcome}"`);
  t.equal(value(`${duration}{operation="findOne",status="200"`), 4);
  t.equal(value(`${duration}{operation="find",status="401"`), 1);
  t.equal(value(`${duration}{operation="upload",status="200"`), 3);
  t.equal(value('sluice_uploads_stored_total'), 3);
  t.equal(value('sluice_upload_parts_total'), 5, 'one, three and one');
  t.equal(s3('UploadPart'), 3 + 2, 'with those of the check at the start');
  t.equal(s3('PutObject'), 2);
  t.equal(s3('PutObject', 'error'), 1);
  t.equal(value('sluice_s3_retries_total'), 1);
  t.equal(s3('CreateMultipartUpload'), 1 + 1);
  t.equal(s3('CompleteMultipartUpload'), 1 + 1);
  t.equal(value('sluice_cache_requests_total{cache="records",result="hit"'), 2);
  t.equal(value('sluice_cache_requests_total{cache="records",result="miss"'), 2);
  t.ok(value('sluice_cache_requests_total{cache="structures",result="hit"') >= 3);
  t.ok(value('sluice_cache_requests_total{cache="spaces",result="hit"') >= 2);
  t.ok(value('sluice_cache_requests_total{cache="tokens",result="hit"') >= 5);
  t.ok(value('sluice_batch_requests_count{batch="record_inserts"') >= 0);
  t.equal(value('sluice_batch_requests_count{batch="record_lookups"'), 1);
  t.ok(value('sluice_call_duration_seconds_count{system="engine",call="rows",outcome="ok"') > 0);
  t.equal(value('sluice_upload_memory_limit_bytes'), 268435456);
  t.ok(value('nodejs_eventloop_lag_p99_seconds') > 0);
  t.ok(value('nodejs_eventloop_lag_max_seconds') > 0);
  t.ok(value('sluice_call_longest_seconds{system="engine"') > 0);
  t.notMatch(text, /secret-project|people|made-up/, 'no label holds what a client chose');
});

t.test('names follow the rules of Prometheus', async (t) => {
  for (const [, name = '', type] of text.matchAll(/^# TYPE (sluice_\w+) (\w+)$/gm)) {
    t.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`);
    t.notMatch(name, /_(ms|milliseconds|kb|mb)(_|$)/, 'base units');
  }
  for (const [, name] of text.matchAll(/^# HELP (sluice_\w+) $/gm)) t.fail(`${name} has no help`);
});

/** Every name by which something can be asked for, and the labels of each. */
function known(): ReadonlyMap<string, ReadonlySet<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const endings = type === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
    for (const ending of endings) labels.set(name + ending, new Set(['job', 'instance']));
  }
  for (const line of lines) {
    const [, name = '', list = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) labels.get(name)?.add(label);
  }
  return labels;
}

t.test('the dashboard and the alerts ask for what there is', async (t) => {
  const names = known();
  const served = new Set([
    ...operations.map(({ name }) => name),
    ...['upload', 'download', 'link', 'healthz', 'health', 'readyz', 'metrics'],
  ]);
  const expressions = [...(await dashboardExpressions()), ...(await alertExpressions())];
  t.ok(expressions.length > 30);
  for (const { place, text } of expressions) {
    const used = [...text.matchAll(/\b((?:sluice|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)];
    t.ok(used.length > 0, place);
    const allowed = new Set<string>();
    for (const [, name = '', matchers = ''] of used) {
      const labels = names.get(name);
      t.ok(labels, `${place}: ${name}`);
      for (const label of labels ?? []) allowed.add(label);
      for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[=!]/g)) {
        t.ok(labels?.has(label), `${place}: ${name} has ${label}`);
      }
      for (const [, list = ''] of matchers.matchAll(/operation[=!]~?"([^"]*)"/g)) {
        for (const operation of list.split('|')) t.ok(served.has(operation), `${place}: ${operation}`);
      }
    }
    for (const [, list = ''] of text.matchAll(/\b(?:by|on) \(([^)]*)\)/g)) {
      for (const label of list.split(', ')) t.ok(allowed.has(label), `${place}: by ${label}`);
    }
  }
});
