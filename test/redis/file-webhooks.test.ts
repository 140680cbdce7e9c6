/** Webhooks of files from a gateway of its own, which shares ClickHouse, Redis and S3 with a query process. */
import t from 'tap';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { acceptanceToken, sluiceFor } from '../services/start-sluice.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const [clickhouse, redis, stub, receiver] = await Promise.all([
  startClickhouse(),
  startRestrictedRedis(),
  startS3Stub(),
  startWebhookReceiver(),
]);
t.teardown(async () => {
  await receiver.close();
  await stub.close();
  await redis.stop();
  await clickhouse.close();
});
const env = {
  ...stubSettings(stub),
  CLICKHOUSE_URL: clickhouse.url,
  CLICKHOUSE_DATABASE: 'hooked',
  REDIS_URL: redis.url,
  REDIS_USERNAME: redis.user.username,
  REDIS_PASSWORD: redis.user.password,
  WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
};
const query = await sluiceFor(t, { env, script: 'query/main.ts' });
const gateway = await sluiceFor(t, { env, script: 'gateway/main.ts' });

async function ask(base: string, method: string, path: string, body?: string) {
  const headers = { authorization: `Bearer ${acceptanceToken}` };
  const response = await fetch(base + path, { method, headers, ...(body !== undefined && { body }) });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}
const setHooks = (webhooks: readonly object[]) =>
  ask(query.baseUrl, 'PUT', '/_projects_/demo/files/rules', JSON.stringify({ webhooks }));

t.test('the gateway sends, from when the query process has answered that it should', async (t) => {
  t.equal((await setHooks([{ url: `${receiver.url}/files` }])).status, 200);
  const put = await ask(gateway.baseUrl, 'PUT', '/_f_/demo/a.txt', 'a');
  t.equal(put.status, 200);
  const { name } = put.json;
  t.equal((await ask(gateway.baseUrl, 'DELETE', `/_f_/demo/${name}`)).status, 204);
  await receiver.count(2);
  t.match(receiver.received, [
    { body: { event: 'file.created', file: put.json } },
    { body: { event: 'file.deleted', file: { name } } },
  ]);
  const listed = await ask(query.baseUrl, 'GET', '/_webhooks_/deliveries');
  t.match(listed.json, [{ event: 'file.deleted', recordIds: [name] }, { event: 'file.created' }]);
  t.equal((await setHooks([])).status, 200);
  t.equal((await ask(gateway.baseUrl, 'PUT', '/_f_/demo/b.txt', 'b')).status, 200);
  t.equal((await setHooks([{ url: `${receiver.url}/files`, events: ['file.created'] }])).status, 200);
  t.equal((await ask(gateway.baseUrl, 'PUT', '/_f_/demo/c.txt', 'c')).status, 200);
  await receiver.count(3);
  t.match(receiver.received[2], { body: { file: { originalName: 'c.txt' } } }, 'and not of b.txt');
});
