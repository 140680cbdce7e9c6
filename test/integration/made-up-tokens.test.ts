import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { AccessTokens, hashToken } from '#auth/access-tokens.ts';
import { TokenCheck } from '#auth/token-check.ts';
import { createTokenGate } from '#auth/token-gate.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { everyToken } from '../services/every-token.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { silentLog } from '../services/silent-log.ts';

const { signal } = new AbortController();
const { db, database } = await openMigratedChdb(t);

/** A process on the one store, which counts its statements. */
async function openProcess(t: Test, { singleWriter = false } = {}) {
  const state = { statements: 0 };
  const counted: typeof db = {
    ...db,
    rows(sql, ...rest) {
      state.statements++;
      return db.rows(sql, ...rest);
    },
  };
  const deployment = await openDeployment({ db: counted, database });
  const tokens = new AccessTokens({ db: counted, database, deployment });
  const gate = createTokenGate({ tokens, deployment, singleWriter });
  const check = new TokenCheck({ ...everyToken, tokens, log: silentLog(), singleWriter: true, gate });
  t.teardown(() => check.close());
  const create = async (token?: string): Promise<string> =>
    (await tokens.create({ userId: 'user', name: '', expiresAt: null, token })).token;
  return { state, tokens, check, create };
}

/** @param characters after the prefix: 43 before tokens had a checksum, 51 since */
const madeUp = (characters: number): string =>
  `sluice_${randomBytes(64).toString('base64url').slice(0, characters)}`;

t.test('made-up tokens of every form cost the store next to nothing', async (t) => {
  const { state, check, create } = await openProcess(t);
  const good = await create();
  const forms = [() => madeUp(51), () => madeUp(43), () => randomBytes(20).toString('hex'), () => 'Bearer~'];
  const changed = () => good.slice(0, 20) + (good[20] === 'a' ? 'b' : 'a') + good.slice(21);
  state.statements = 0;
  const asked = Array.from({ length: 500 }, (_, i) => ([...forms, changed][i % 5] as () => string)());
  const answers = await Promise.all(asked.map((token) => check.check(token, signal)));
  t.ok(answers.every((answer) => answer === 'unknown'));
  t.ok(state.statements <= 4, `${state.statements} statements`);
  state.statements = 0;
  t.match(await check.check(good, signal), { userId: 'user' });
  t.equal(state.statements, 1, 'a good one is looked up');
});

t.test('they cost a store that one process has to itself one look', async (t) => {
  const { state, check, create } = await openProcess(t, { singleWriter: true });
  const configured = await create('a-token-of-one-process');
  state.statements = 0;
  for (let i = 0; i < 3; i++) t.equal(await check.check(madeUp(51), signal), 'unknown');
  t.equal(state.statements, 1, 'for tokens without a checksum');
  t.match(await check.check(configured, signal), { userId: 'user' });
  t.match(await check.check(await create(), signal), { userId: 'user' });
});

t.test('a configured token of any text works, also one that another process was given', async (t) => {
  const [one, two] = await Promise.all([openProcess(t), openProcess(t)]);
  t.equal(await two.check.check('a-token-of-any-text', signal), 'unknown');
  await one.create('a-token-of-any-text');
  t.match(await one.check.check('a-token-of-any-text', signal), { userId: 'user' });
  await two.check.invalidate(hashToken('a-token-of-any-text'));
  t.match(await two.check.check('a-token-of-any-text', signal), { userId: 'user' });
});

t.test('a token from before checksums works, and can be revoked', async (t) => {
  const { tokens, check } = await openProcess(t);
  const old = madeUp(43);
  await db.command({
    sql: `INSERT INTO ${database}.access_tokens (hash, id, user_id, name, created_at, version)
     VALUES ('${hashToken(old)}', 'old', 'user', '', now64(3), 0)`,
  });
  t.match(await check.check(old, signal), { id: 'old' });
  const stored = await tokens.findById('old');
  await tokens.revoke(stored as NonNullable<typeof stored>);
  await check.invalidate(hashToken(old));
  t.equal(await check.check(old, signal), 'revoked');
});

t.test('processes that start on an empty store at once have one key, whoever is slower', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const order: (() => void)[] = [];
  const slow: typeof db = {
    ...db,
    async insert(args, ...rest) {
      await new Promise<void>((resolve) => order.push(resolve));
      return db.insert(args, ...rest);
    },
  };
  const first = openDeployment({ db: slow, database });
  while (order.length === 0) await sleep(1);
  // its row is of a later time, and is there before
  await sleep(5);
  const second = await openDeployment({ db, database });
  order[0]?.();
  t.strictSame(await first, second);
  t.strictSame(await openDeployment({ db, database }), second);
});
