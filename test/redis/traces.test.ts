import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startOtlpReceiver } from '../services/otlp-receiver.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

const redis = await startRedis();
const receiver = await startOtlpReceiver();
const sluice = await startSluice({
  env: {
    REDIS_URL: redis.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  },
});
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await redis.stop();
  await receiver.close();
});
const structure = structureOf('p', 'users', fieldsOf('email TEXT unique'));
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };

t.test('commands to Redis are spans of their request, and are measured', async (t) => {
  const inserted = { ...sluice, path: '/p/users/_single_', structure, body: { email: 'ada@x' }, headers };
  t.equal((await call(inserted)).status, 200);
  const spans = await receiver.trace(traceId, (all) => all.some(({ kind }) => kind === 2));
  const server = spans.find(({ kind }) => kind === 2);
  const commands = spans.filter(({ name }) => name.startsWith('redis '));
  t.ok(commands.length > 0);
  for (const { attributes, parentSpanId } of commands) {
    t.equal(parentSpanId, server?.spanId);
    t.match(attributes, { 'db.system.name': 'redis', 'db.operation.name': 'script' });
  }
  const measured = async (outcome: string): Promise<boolean> => {
    const text = await (await fetch(`${sluice.baseUrl}/metrics`)).text();
    return text.includes(
      `sluice_call_duration_seconds_count{system="redis",call="script",outcome="${outcome}"`,
    );
  };
  t.ok(await measured('ok'));
  t.notOk(await measured('error'));
  await redis.kill();
  t.equal((await call({ ...inserted, body: { email: 'eve@x' } })).status, 503);
  while (!(await measured('error'))) await sleep(20);
});
