import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { redisLocks } from '#coordination/redis/process-lock.ts';
import type { CloudFiles } from '#gateway/catalogue/cloud-files.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { testJanitor } from '../services/test-janitor.ts';

const quick = { connect: 1000, command: 200, backoff: 50 };
const times = { lease: 900, renewEvery: 150 };
const key = 'sluice:lock:1:janitor';

/** An empty store that counts how many janitors look at it at once, and lets them go on when it is told to. */
class Store {
  running = 0;
  runs = 0;
  most = 0;
  open: () => void = () => {};
  #gate = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  readonly store = {
    listOpenUploads: (signal: AbortSignal) => this.#list(signal),
    list: async function* () {},
  } as unknown as ObjectStore;

  close(): void {
    this.#gate = new Promise<void>((resolve) => {
      this.open = resolve;
    });
  }

  async *#list(signal: AbortSignal): AsyncGenerator<never> {
    this.runs++;
    this.running++;
    this.most = Math.max(this.most, this.running);
    try {
      const gone = new Promise<never>((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      await Promise.race([this.#gate, gone]);
    } finally {
      this.running--;
    }
  }
}

async function openJanitor(t: Test, server: RedisServer, store: Store, port = server.config.port) {
  const log = silentLog();
  const redis = await openRedis({ ...server.config, port }, log, quick);
  const janitor = testJanitor({
    store: store.store,
    cloudFiles: {
      madeBetween: async () => [],
      findDue: async () => [],
      withState: async () => [],
      replacedBetween: async () => [],
      namesWithRow: async () => new Set(),
    } as unknown as CloudFiles,
    log,
    deployment: { id: 'none' },
    staleAfter: 1,
    grace: 1,
    interval: 100,
    lock: redisLocks({ redis, log })('janitor', times),
  });
  t.teardown(async () => {
    store.open();
    await janitor.close();
    await redis.close();
  });
  return { janitor, log, run: () => janitor.run({ dryRun: false }) };
}

async function openServer(t: Test): Promise<RedisServer> {
  const server = await startRedis();
  t.teardown(() => server.stop());
  return server;
}
const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await sleep(5);
};

t.test('one janitor at a time, for as long as it takes', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const [a, b] = [await openJanitor(t, server, store), await openJanitor(t, server, store)];
  const running = a.run();
  await until(() => store.running === 1);
  const begun = performance.now();
  while (performance.now() < begun + 2.5 * times.lease) {
    t.match(await rejectionOf(b.run()), { name: 'LockRefused', reason: 'held' });
    await sleep(100);
  }
  t.match(
    await Promise.race([b.janitor.run({ dryRun: true }), sleep(100, 'it only looks')]),
    'it only looks',
  );
  store.open();
  t.match(await running, { failures: 0 });
  await until(() => store.running === 0);
  while ((await server.command('EXISTS', key)) !== 0) await sleep(5);
  t.match(await b.run(), { failures: 0 });
});

t.test('a lock that was taken over is not given back by who had it', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const a = await openJanitor(t, server, store);
  const running = rejectionOf(a.run());
  await until(() => store.running === 1);
  await server.command('SET', key, 'somebody else', 'PX', 60_000);
  t.match(await running, { message: /lock janitor was lost/ });
  await sleep(100);
  t.equal(await server.command('GET', key), 'somebody else');
});

t.test('who is cut off stops before another one may begin', async (t) => {
  const server = await openServer(t);
  const proxy = await startTcpProxy({ target: server.config });
  const store = new Store();
  const a = await openJanitor(t, server, store, proxy.port);
  const b = await openJanitor(t, server, store);
  const running = rejectionOf(a.run());
  await until(() => store.running === 1);
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen: true });
  store.close();
  const before = store.runs;
  // again and again until it may; then it is in the store, and waits there
  const other = (async () => {
    for (;;) {
      try {
        return await b.run();
      } catch (error) {
        if (store.runs > before) throw error;
        await sleep(20);
      }
    }
  })();
  await until(() => store.runs > before);
  t.equal(store.most, 1);
  t.match(await running, { message: /lost/ });
  store.open();
  await other;
  for (const connection of proxy.connections()) connection.cut('rst');
  void proxy.close();
});

t.test('timed runs under every failure of Redis: never two at once, and they go on', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  store.open();
  const proxy = await startTcpProxy({ target: server.config });
  const both = [
    await openJanitor(t, server, store, proxy.port),
    await openJanitor(t, server, store, proxy.port),
  ];
  for (const { janitor } of both) janitor.start();
  const delay = (delayMs: number) => () => {
    for (const direction of ['toTarget', 'toClient'] as const) proxy.set(direction, { delayMs });
  };
  const memory = (size: number) => () => server.command('CONFIG', 'SET', 'maxmemory', size);
  for (const [name, begin, end] of [
    ['killed', server.kill, server.start],
    ['stopped', server.pause, server.resume],
    ['full', memory(1), memory(0)],
    ['flushed', () => server.command('FLUSHALL'), () => {}],
    ['slow', delay(40), delay(0)],
    ['slower than it may be', delay(150), delay(0)],
  ] as const) {
    const before = store.runs;
    await until(() => store.runs > before + 2);
    await begin();
    await sleep(700);
    await end();
    const after = store.runs;
    await until(() => store.runs > after + 2);
    // a lock that Redis forgets is noticed with its next renewal
    if (name === 'killed' || name === 'flushed') store.most = 0;
    t.ok(store.most <= 1);
    t.comment(`${name}: ${after - before} runs until it ended, ${store.runs - after} after it`);
  }
  t.match(both.map(({ log }) => log.failures.join()).join(), /unknown whether another process runs/);
  for (const connection of proxy.connections()) connection.cut('rst');
  void proxy.close();
});
