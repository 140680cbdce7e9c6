/** Uses of an upload link, between gateways that share a Redis. */
import t from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { noLinkUses, RedisLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';

const keys = createConfiguredKeys('a secret of a test, long enough for it');
const server = await startRedis();
t.teardown(() => server.stop());

const about = { ownerId: '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a', projectSlug: 'demo', maxBytes: 5, type: '' };

t.test('a link that may be used twice is used twice, at whichever gateways', async (t) => {
  const gateways = await Promise.all(
    [1, 2, 3].map(async () => {
      const redis = await openRedis(server.config, silentLog(), { connect: 1000, command: 500, backoff: 50 });
      t.teardown(() => redis.close());
      return { redis, links: new UploadLinks({ keys, uses: new RedisLinkUses(redis) }) };
    }),
  );
  const [one, two] = gateways as [(typeof gateways)[0], (typeof gateways)[0]];
  const expires = Math.floor(Date.now() / 1000) + 600;
  const link = await two.links.read(await one.links.sign({ ...about, expires, times: 2 }), 'demo');
  const used = await Promise.allSettled(
    Array.from({ length: 9 }, (_, i) => (gateways[i % 3] ?? one).links.use(link)),
  );
  t.equal(used.filter(({ status }) => status === 'fulfilled').length, 2);
  await two.links.giveBack(link);
  await one.links.use(link);
  await t.rejects(two.links.use(link), { code: 'link_refused' });
  await one.redis.remove(`sluice:upload-link:1:${link.id}`);
  await two.links.giveBack(link);
  await t.rejects(one.links.use(link), { code: 'link_refused' }, 'what Redis forgot has ended');
  await server.stop();
  await t.rejects(one.links.use(link), { code: 'unavailable', status: 503 });
  await t.rejects(one.links.sign({ ...about, expires, times: 2 }), { code: 'unavailable' });
  await one.links.use(await one.links.read(await one.links.sign({ ...about, expires, times: 0 }), 'demo'));
});

t.test('processes that share no Redis make no link that counts', async (t) => {
  const links = new UploadLinks({ keys, uses: noLinkUses });
  await t.rejects(links.sign({ ...about, expires: 9e9, times: 1 }), { code: 'invalid_body' });
  await links.use(await links.read(await links.sign({ ...about, expires: 9e9, times: 0 }), 'demo'));
});
