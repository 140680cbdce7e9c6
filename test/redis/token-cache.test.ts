import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type AccessToken, type AccessTokens, hashToken } from '#auth/access-tokens.ts';
import { createSharedTokens, keyOf } from '#auth/shared-tokens.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { TokenCheck, tokenTrust } from '#auth/token-check.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import { everyToken } from '../services/every-token.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const { signal } = new AbortController();
const quick = { connect: 1000, command: 400, backoff: 50 };
const keys = createConfiguredKeys('a secret that all processes of a store share');

/** The table of tokens, which counts who looks; a look takes its row and answers later. */
class Store {
  readonly rows = new Map<string, AccessToken>();
  looks = 0;
  /** Awaited between the row and the answer. */
  gate: Promise<void> = Promise.resolve();

  add(text: string): AccessToken {
    const token: AccessToken = {
      id: randomUUID(),
      hash: hashToken(text),
      userId: `user of ${text}`,
      name: 'ä',
      createdAt: new Date(),
      expiresAt: null,
      revokedAt: null,
    };
    this.rows.set(token.hash, token);
    return token;
  }

  revoke(text: string): void {
    const token = this.rows.get(hashToken(text)) as AccessToken;
    this.rows.set(token.hash, { ...token, revokedAt: new Date() });
  }

  readonly tokens = {
    findByHash: async (hash: string) => {
      this.looks++;
      const row = this.rows.get(hash) ?? null;
      await this.gate;
      return row;
    },
    noteUses: async () => {},
  } as unknown as AccessTokens;
}

async function openProcess(t: Test, server: Pick<RedisServer, 'config'>, store: Store, secret = keys) {
  const log = silentLog();
  const redis = await openRedis(server.config, log, quick);
  const invalidation = new RedisInvalidation({ redis, log });
  const shared = createSharedTokens({ redis, invalidation, keys: secret, log });
  const { tokens } = store;
  const check = new TokenCheck({ ...everyToken, tokens, log, singleWriter: false, invalidation, shared });
  t.teardown(async () => {
    await check.close();
    await invalidation.close();
    await redis.close();
  });
  while (!invalidation.isCurrent()) await sleep(5);
  return {
    log,
    invalidation,
    shared,
    redis,
    check: (text: string) => check.check(text, signal),
    invalidate: (text: string) => check.invalidate(hashToken(text)),
  };
}

async function openServer(t: Test): Promise<RedisServer> {
  const server = await startRedis();
  t.teardown(() => server.stop());
  return server;
}

async function untilStored(server: RedisServer, text: string): Promise<string> {
  for (;;) {
    const value = await server.command('GET', keyOf(hashToken(text)));
    if (typeof value === 'string') return value;
    await sleep(5);
  }
}

t.test('one process looks a token up for all, and none of them the token itself into Redis', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const processes = await Promise.all(Array.from({ length: 3 }, () => openProcess(t, server, store)));
  const [a, b, c] = processes as [(typeof processes)[0], (typeof processes)[0], (typeof processes)[0]];
  const secret = 'never-in-redis';
  const token = { ...store.add(secret), userId: 'user' };
  store.rows.set(token.hash, token);
  t.strictSame(await a.check(secret), token);
  const value = await untilStored(server, secret);
  t.strictSame(await b.check(secret), token);
  t.strictSame(await c.check(secret), token);
  t.equal(store.looks, 1);
  const names = (await server.command('KEYS', '*')) as string[];
  for (const text of [...names, value]) t.notMatch(text, new RegExp(secret));
  t.ok(Number(await server.command('PTTL', keyOf(token.hash))) > 0, 'it ends by itself');
  t.notMatch(value, token.hash, 'the key alone has the hash, as earlier versions wrote it');
});

t.test('a token that one revokes is refused by all, at once or within a second', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const [a, b] = [await openProcess(t, server, store), await openProcess(t, server, store)];
  for (let round = 0; round < 20; round++) {
    const text = `token ${round}`;
    store.add(text);
    t.match(await a.check(text), { userId: `user of ${text}` });
    await untilStored(server, text);
    t.match(await b.check(text), { userId: `user of ${text}` });
    store.revoke(text);
    t.ok(await a.invalidate(text));
    t.equal(await a.check(text), 'revoked');
    while ((await b.check(text)) !== 'revoked') await sleep(1);
  }
});

t.test('a look that began before the revocation does not bring the token back, in no process', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const [a, b] = [await openProcess(t, server, store), await openProcess(t, server, store)];
  store.add('raced');
  let open = (): void => {};
  store.gate = new Promise((resolve) => {
    open = resolve;
  });
  const early = a.check('raced');
  while (store.looks === 0) await sleep(1);
  store.gate = Promise.resolve();
  store.revoke('raced');
  t.ok(await b.invalidate('raced'));
  open();
  t.match(await early, { userId: 'user of raced' }, 'it was asked before');
  // what it put into Redis is there, and nobody goes by it
  t.match(await untilStored(server, 'raced'), /"revokedAt":null/);
  t.equal(await b.check('raced'), 'revoked');
  while ((await a.check('raced')) !== 'revoked') await sleep(1);
  const late = await openProcess(t, server, store);
  t.equal(await late.check('raced'), 'revoked');
});

t.test('what somebody else wrote into Redis counts for nothing', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const a = await openProcess(t, server, store);
  store.add('victim');
  await a.check('victim');
  const value = await untilStored(server, 'victim');
  const cut = value.indexOf('.') + 1;
  const forged = value.slice(0, cut) + value.slice(cut).replace('user of victim', 'user of mallory');
  const otherStore = createConfiguredKeys('the secret of another store, of another day');
  const stranger = await openProcess(t, server, store, otherStore);
  const position = stranger.invalidation.position();
  for (const [text, write] of [
    ['forged', () => server.command('SET', keyOf(hashToken('forged')), forged)],
    ['moved', () => server.command('SET', keyOf(hashToken('moved')), value)],
    ['junk', () => server.command('SET', keyOf(hashToken('junk')), 'junk')],
    [
      'signed',
      () => stranger.shared.put({ ...store.add('x'), hash: hashToken('signed') }, position as never),
    ],
  ] as const) {
    await write();
    const b = await openProcess(t, server, store);
    t.equal(await b.check(text), 'unknown', text);
  }
  t.match(await server.command('EXISTS', keyOf(hashToken('signed'))), 1);
});

t.test('guessing fills nothing in Redis, and pushes no good token out', async (t) => {
  const server = await openServer(t);
  const store = new Store();
  const a = await openProcess(t, server, store);
  store.add('good');
  await a.check('good');
  await untilStored(server, 'good');
  const before = (await server.command('DBSIZE')) as number;
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 500 }, (_, j) => a.check(`guess ${i} ${j}`)));
  }
  while (!a.invalidation.isCurrent()) await sleep(5);
  const looks = store.looks;
  t.match(await a.check('good'), { userId: 'user of good' });
  t.equal(store.looks, looks);
  t.equal(await server.command('DBSIZE'), before);
  // a token that was guessed too early is good as soon as it is made
  t.equal(await a.check('early'), 'unknown');
  store.add('early');
  await a.invalidate('early');
  t.match(await a.check('early'), { userId: 'user of early' });
});

/** From a second after a revocation on, whatever Redis does, nobody takes the token; others are never refused. */
async function underLoad(
  t: Test,
  server: Pick<RedisServer, 'config'>,
  name: string,
  outage: { begin: () => unknown; end: () => unknown },
): Promise<void> {
  const store = new Store();
  const [a, b] = [await openProcess(t, server, store), await openProcess(t, server, store)];
  const texts = Array.from({ length: 60 }, (_, i) => `${name} ${i}`);
  for (const text of texts) store.add(text);
  const revoking = new Set<string>();
  const revoked = new Map<string, number>();
  const counts = { taken: 0, refused: 0, late: 0, wrong: 0 };
  let stop = false;
  const load = [a, b, a, b].map(async (process, worker) => {
    for (let i = worker; !stop; i++) {
      const text = texts[i % texts.length] as string;
      const asked = performance.now();
      const result = await process.check(text);
      const since = revoked.get(text);
      if (result === 'revoked') counts.refused++;
      else if (typeof result !== 'string') counts.taken++;
      else counts.wrong++;
      if (result === 'revoked' && !revoking.has(text)) counts.wrong++;
      if (typeof result !== 'string' && since !== undefined && asked > since + 1000) counts.late++;
      if (i % 20 === 0) await sleep(1);
    }
  });
  const revokeSome = async (from: number): Promise<void> => {
    for (const [i, text] of texts.slice(from, from + 10).entries()) {
      revoking.add(text);
      store.revoke(text);
      await [a, b][i % 2]?.invalidate(text);
      revoked.set(text, performance.now());
    }
  };
  await sleep(300);
  await outage.begin();
  await revokeSome(0);
  await sleep(1500);
  await revokeSome(10);
  await outage.end();
  await revokeSome(20);
  while (!a.invalidation.isCurrent() || !b.invalidation.isCurrent()) await sleep(10);
  await sleep(1100);
  stop = true;
  await Promise.all(load);
  t.equal(counts.late, 0);
  t.equal(counts.wrong, 0);
  t.ok(counts.taken > 0 && counts.refused > 0);
  for (const text of texts.slice(0, 30)) {
    t.equal(await a.check(text), 'revoked');
    t.equal(await b.check(text), 'revoked');
  }
  t.comment(`${name}: ${JSON.stringify(counts)}, ${store.looks} looks`);
}

t.test('under load', async (t) => {
  const server = await openServer(t);
  const memory = (policy: string) => ({
    begin: async () => {
      await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
      await server.command('CONFIG', 'SET', 'maxmemory', 1);
    },
    end: () => server.command('CONFIG', 'SET', 'maxmemory', 0),
  });
  await underLoad(t, server, 'killed', { begin: server.kill, end: server.start });
  await underLoad(t, server, 'stopped', { begin: server.pause, end: server.resume });
  await underLoad(t, server, 'flushed', { begin: () => server.command('FLUSHALL'), end: () => {} });
  const proxy = await startTcpProxy({ target: server.config });
  const slow = { config: { ...server.config, port: proxy.port } };
  for (const delayMs of [200, 1500]) {
    await underLoad(t, slow, `${delayMs} ms slow`, {
      begin: () => proxy.set('toClient', { delayMs }),
      end: () => proxy.set('toClient', { delayMs: 0 }),
    });
  }
  t.teardown(() => proxy.close());
  await underLoad(t, server, 'full, noeviction', memory('noeviction'));
  await underLoad(t, server, 'full, allkeys-lru', memory('allkeys-lru'));
});

t.test('nobody to tell of revocations: a look is good for under a second', async (t) => {
  const store = new Store();
  const check = new TokenCheck({
    ...everyToken,
    tokens: store.tokens,
    log: silentLog(),
    singleWriter: false,
  });
  t.teardown(() => check.close());
  store.add('good');
  await check.check('good', signal);
  store.revoke('good');
  const revoked = performance.now();
  for (;;) {
    const asked = performance.now();
    const result = await check.check('good', signal);
    if (result === 'revoked') break;
    if (asked > revoked + tokenTrust.polled) t.fail('taken for too long');
    await sleep(5);
  }
  t.ok(tokenTrust.polled < 1000);
});
