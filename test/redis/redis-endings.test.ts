/** What is closed while something is under way leaves nothing behind, and ends nothing else. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { certificateFor } from '../services/certificate.ts';
import { freePorts } from '../services/free-port.ts';
import { startRedis } from '../services/redis.ts';
import { startRedisCluster } from '../services/redis-cluster.ts';
import { redisArguments, redisTlsOptions } from '../services/redis-tls.ts';
import { everyWay } from '../services/redis-ways.ts';
import { silentLog } from '../services/silent-log.ts';

const quick = { connect: 1000, command: 500, backoff: 100 };
const active = (kind: string): number =>
  process.getActiveResourcesInfo().filter((each) => each === kind).length;

const publish = redisScript(`return redis.call('PUBLISH', 'sluice:news', 'message')`);

/** Lets other processes go on, and not this one. */
const block = (milliseconds: number): unknown =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

t.test('a cluster that is closed while its map of slots is under way', async (t) => {
  const before = active('Timeout');
  const cluster = await startRedisCluster();
  const redis = await openRedis(cluster.config, silentLog(), quick);
  let heard = false;
  const listener = redis.listen('sluice:news', () => {
    heard = true;
  });
  for (; !heard; await sleep(20)) await redis.run(publish, ['key'], []);
  for (const node of cluster.nodes) node.pause();
  // by then it is asked for, and not answered
  await sleep(1200);
  listener.close();
  await redis.close();
  for (const node of cluster.nodes) node.resume();
  await cluster.stop();
  // a timer that goes on for ever makes this last until the test's limit; it sets itself anew each second
  for (let quiet = 0; quiet < 40; quiet = active('Timeout') > before ? 0 : quiet + 1) await sleep(50);
  t.equal(active('Timeout'), before);
});

t.test('TLS that is given up before the certificate came, which is not trusted', async (t) => {
  const certificate = await certificateFor(t);
  const port = await freePorts(1);
  const server = await startRedis({ args: redisArguments(redisTlsOptions(port, certificate)) });
  t.teardown(() => server.stop());
  for (const config of everyWay({ host: '127.0.0.1', port }, true)) {
    const before = active('TCPSocketWrap');
    const redis = await openRedis(config, silentLog(), quick);
    server.pause();
    const listener = redis.listen('sluice:news', () => {});
    // the first command to a Sentinel, or to a node, is given up by itself
    await sleep(quick.command + 200);
    // between two attempts there is no connection
    while (active('TCPSocketWrap') <= before) await sleep(5);
    t.pass(config.mode);
    listener.close();
    await redis.close();
    await sleep(0);
    server.resume();
    // then its part of the handshake, and its alert about the end, are read together
    block(300);
    while (active('TCPSocketWrap') > before) await sleep(10);
  }
});
