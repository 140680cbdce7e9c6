/** Small files that gateways keep in memory, between gateways that share a Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { type ServedFile, SmallFiles } from '#gateway/download/small-files.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';

const signal = new AbortController().signal;
const bytes = Buffer.from('0123456789');

async function openGateway(t: Test, server: RedisServer) {
  const log = silentLog();
  const redis = await openRedis(server.config, log, { connect: 1000, command: 400, backoff: 50 });
  const invalidation = new RedisInvalidation({ redis, log });
  t.teardown(async () => {
    await invalidation.close();
    await redis.close();
  });
  await until(() => invalidation.isCurrent());
  const files = new SmallFiles({ bytes: 1_000_000, singleWriter: false, invalidation });
  const rows = files.over({ remove: async () => true, async change() {} } as unknown as CloudFiles);
  const keep = (name: string) =>
    files.keep({ file: { name } as CloudFile } as ServedFile, bytes, files.begin());
  return { files, rows, keep };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(10);
}

t.test('what one gateway deletes the others forget, and nothing else', async (t) => {
  const server = await startRedis();
  t.teardown(() => server.stop());
  const [one, two] = [await openGateway(t, server), await openGateway(t, server)];
  for (const { keep } of [one, two]) {
    keep('a');
    keep('b');
  }
  t.equal(two.files.get('a')?.bytes, bytes);
  await one.rows.remove('a', signal);
  t.equal(one.files.get('a'), undefined, 'here at once');
  await until(() => two.files.get('a') === undefined);
  await until(() => two.files.get('b') !== undefined && one.files.get('b') !== undefined);
});

t.test('while Redis is away the store is asked', async (t) => {
  const server = await startRedis();
  const one = await openGateway(t, server);
  one.keep('a');
  t.equal(one.files.get('a')?.bytes, bytes);
  await server.stop();
  await until(() => one.files.get('a') === undefined);
  t.equal(await one.rows.remove('a', signal), true, 'a deletion does not wait for it');
});
