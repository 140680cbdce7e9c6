/** A file that one gateway puts in the trash is gone from the others, and comes back there: with Redis, and without. */
import t, { type Test } from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, type Sluice, startSluice } from '../services/start-sluice.ts';

const server = await startClickhouse();
const redis = await startRestrictedRedis();
const stub = await startS3Stub();
t.teardown(async () => {
  await server.close();
  await redis.stop();
  await stub.close();
});

async function ask(
  { baseUrl, token }: Sluice,
  method: string,
  path: string,
  body?: string,
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` };
  return fetch(`${baseUrl}/_f_/demo${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
}

async function statusOf(sluice: Sluice, method: string, path: string): Promise<number> {
  const answer = await ask(sluice, method, path);
  await answer.arrayBuffer();
  return answer.status;
}

async function betweenTwo(t: Test, env: Record<string, string>): Promise<void> {
  const stores = { ...stubSettings(stub), CLICKHOUSE_URL: server.url, TRASH_DAYS: '7', ...env };
  // the first one makes the tables
  const one = await startSluice({ script: 'gateway/main.ts', env: stores });
  const two = await startSluice({ script: 'gateway/main.ts', env: stores });
  t.teardown(() => killAll([one, two]));
  const stored = await ask(one, 'PUT', '/a.txt', 'hello');
  const { name } = (await stored.json()) as { name: string };
  for (const sluice of [one, two]) t.equal(await statusOf(sluice, 'HEAD', `/${name}`), 200);
  t.equal(await statusOf(one, 'DELETE', `/${name}`), 204);
  t.equal(await statusOf(one, 'HEAD', `/${name}`), 404, 'at once in this process');
  await eventuallyEqual(t, () => statusOf(two, 'HEAD', `/${name}`), 404, 'soon in the other');
  t.equal(await statusOf(two, 'POST', `/${name}/restore`), 200);
  t.equal(await statusOf(two, 'HEAD', `/${name}`), 200);
  await eventuallyEqual(t, () => statusOf(one, 'HEAD', `/${name}`), 200, 'soon in the first');
}

t.test('with Redis', (t) =>
  betweenTwo(t, {
    CLICKHOUSE_DATABASE: 'with_redis',
    REDIS_URL: redis.url,
    REDIS_USERNAME: redis.user.username,
    REDIS_PASSWORD: redis.user.password,
  }),
);

t.test('without Redis', (t) => betweenTwo(t, { CLICKHOUSE_DATABASE: 'without_redis' }));
