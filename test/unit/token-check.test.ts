import t from 'tap';
import { type AccessToken, type AccessTokens, hashToken } from '#auth/access-tokens.ts';
import { executeTokenOrder } from '#auth/execute-token-order.ts';
import { sealedToken } from '#auth/sealed-token.ts';
import type { SharedTokens } from '#auth/shared-tokens.ts';
import { TokenCheck } from '#auth/token-check.ts';
import type { Users } from '#catalogue/users.ts';
import { revokeToken } from '#console/operations/revoke-token.ts';
import { everyToken } from '../services/every-token.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { LocalInvalidation } from '../services/local-invalidation.ts';
import { silentLog } from '../services/silent-log.ts';

const { signal } = new AbortController();

function stored(token: string, more: Partial<AccessToken> = {}): AccessToken {
  return {
    id: `id of ${token}`,
    hash: hashToken(token),
    userId: 'user',
    name: '',
    createdAt: new Date(),
    expiresAt: null,
    revokedAt: null,
    ...more,
  };
}

/** A store that counts its lookups and answers when told to. */
function countingStore(rows: AccessToken[]) {
  const state = { lookups: 0, gate: Promise.resolve() };
  const noted: string[] = [];
  const tokens = {
    async findByHash(hash: string) {
      state.lookups++;
      const row = rows.find((candidate) => candidate.hash === hash) ?? null;
      await state.gate;
      return row;
    },
    async noteUses(uses: ReadonlyMap<string, Date>) {
      noted.push(...uses.keys());
    },
  } as unknown as AccessTokens;
  const check = new TokenCheck({ ...everyToken, tokens, log: silentLog(), singleWriter: true });
  return { state, noted, tokens, check };
}

t.test('a known token is looked up once, even by many at a time', async (t) => {
  const { check, state } = countingStore([stored('good')]);
  const results = await Promise.all(Array.from({ length: 50 }, () => check.check('good', signal)));
  for (const result of results) t.match(result, { userId: 'user' });
  await check.check('good', signal);
  t.equal(state.lookups, 1);
  await check.close();
});

t.test('unknown, expired and revoked tokens are told apart', async (t) => {
  const { check, state } = countingStore([
    stored('old', { expiresAt: new Date(Date.now() - 1) }),
    stored('gone', { revokedAt: new Date() }),
  ]);
  t.equal(await check.check('nobody', signal), 'unknown');
  t.equal(await check.check('nobody', signal), 'unknown');
  t.equal(await check.check('old', signal), 'expired');
  t.equal(await check.check('gone', signal), 'revoked');
  t.equal(state.lookups, 3);
  await check.close();
});

t.test('a token that expires while it is cached is refused', async (t) => {
  const expiresAt = new Date(Date.now() + 60_000);
  const { check, state } = countingStore([stored('short', { expiresAt })]);
  t.match(await check.check('short', signal), { userId: 'user' });
  // what is cached is this object
  expiresAt.setTime(Date.now() - 1);
  t.equal(await check.check('short', signal), 'expired');
  t.equal(state.lookups, 1);
  await check.close();
});

t.test('a revocation counts at once, also against a lookup that is under way', async (t) => {
  const rows = [stored('t')];
  const { check, state } = countingStore(rows);
  let open: () => void = () => {};
  state.gate = new Promise((resolve) => {
    open = resolve;
  });
  const early = check.check('t', signal);
  rows[0] = stored('t', { revokedAt: new Date() });
  check.invalidate(hashToken('t'));
  open();
  await early;
  t.equal(await check.check('t', signal), 'revoked');
  await check.close();
});

t.test('uses are noted when it closes', async (t) => {
  const { check, noted } = countingStore([stored('a'), stored('b')]);
  await check.check('a', signal);
  await check.check('a', signal);
  await check.check('b', signal);
  await check.close();
  t.strictSame(noted.sort(), [hashToken('a'), hashToken('b')].sort());
});

/** Processes of one store, which tell each other of revocations. */
function processes(rows: AccessToken[], amount: number) {
  const invalidation = new LocalInvalidation();
  const entries = new Map<string, NonNullable<Awaited<ReturnType<SharedTokens['get']>>>>();
  const shared: SharedTokens = {
    get: async (hash) => entries.get(hash) ?? null,
    async put(token, position) {
      entries.set(token.hash, { token, position });
    },
  };
  const { tokens } = countingStore(rows);
  Object.assign(tokens, {
    findById: async (id: string) => rows.find((row) => row.id === id) ?? null,
    async revoke(token: AccessToken) {
      rows[rows.indexOf(token)] = { ...token, revokedAt: new Date() };
    },
  });
  const open = () =>
    new TokenCheck({ ...everyToken, tokens, log: silentLog(), singleWriter: false, invalidation, shared });
  return { invalidation, tokens, checks: Array.from({ length: amount }, open) };
}

const ways = {
  'npm run token': async (tokens: AccessTokens, tokenCheck: TokenCheck, token: AccessToken) =>
    executeTokenOrder({ users: {} as Users, tokens, tokenCheck }, { action: 'revoke', token: token.id }),
  'the dashboard': async (tokens: AccessTokens, tokenCheck: TokenCheck, token: AccessToken) => {
    const acting = { account: { id: token.userId }, manages: true };
    const call = { request: fakeRequest({ params: { id: token.id } }), acting };
    const args = [call, { tokens, tokenCheck }] as unknown as Parameters<typeof revokeToken>;
    return `${(await revokeToken(...args)).status}`;
  },
};
const id = '00000000-0000-4000-8000-000000000000';

for (const [name, revoke] of Object.entries(ways)) {
  t.test(`a token that is revoked by ${name} is refused by the other processes, too`, async (t) => {
    const token = stored('t', { id });
    const { checks, tokens } = processes([token], 3);
    for (const check of checks) t.match(await check.check('t', signal), { userId: 'user' });
    await revoke(tokens, checks[0] as TokenCheck, token);
    for (const check of checks) {
      t.equal(check.checkKnown('t'), null, 'nothing that was known counts');
      t.equal(await check.check('t', signal), 'revoked');
    }
  });
}

t.test('a revocation that others can not be told of says so', async (t) => {
  const token = stored('t', { id });
  const { checks, tokens, invalidation } = processes([token], 1);
  const [check] = checks as [TokenCheck];
  invalidation.away = true;
  t.match(await ways['npm run token'](tokens, check, token), /Redis does not answer/);
  await t.rejects(ways['the dashboard'](tokens, check, token), { status: 503, code: 'unavailable' });
  t.equal(await check.check('t', signal), 'revoked', 'here it counts');
});

t.test(
  'the token of a session is not trusted for as long as others are, and its use is not noted',
  async (t) => {
    const text = sealedToken('secret', 'web');
    const sessions = { lookups: 0, ended: false };
    const { tokens, noted, state } = countingStore([]);
    const check = new TokenCheck({
      ...everyToken,
      tokens,
      log: silentLog(),
      singleWriter: true,
      sessions: {
        async findToken() {
          sessions.lookups++;
          return sessions.ended ? null : stored(text, { ofSession: true });
        },
      },
    });
    const { now } = performance;
    let ahead = 0;
    performance.now = () => now.call(performance) + ahead;
    t.teardown(() => {
      performance.now = now;
    });
    t.match(await check.check(text, signal), { userId: 'user' });
    t.match(check.checkKnown(text), { userId: 'user' });
    sessions.ended = true;
    ahead = 801;
    t.equal(check.checkKnown(text), null);
    t.equal(await check.check(text, signal), 'unknown');
    t.strictSame([sessions.lookups, state.lookups], [2, 0]);
    await check.close();
    t.strictSame(noted, []);
  },
);
