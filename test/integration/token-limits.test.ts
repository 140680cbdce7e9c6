/** Limits of reads that an access token has of its own. */
import t from 'tap';
import { AccessTokens } from '#auth/access-tokens.ts';
import { createAuthenticate } from '#auth/authenticate.ts';
import { executeTokenOrder, type TokenOrder } from '#auth/execute-token-order.ts';
import { TokenCheck } from '#auth/token-check.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { Users } from '#catalogue/users.ts';
import { everyToken } from '../services/every-token.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';

/** A statement that would take minutes. */
const endless = 'SELECT toString(sum(cityHash64(number))) AS _records FROM numbers(60000000000)';
let isSlow = false;

const harness = await queryHarnessFor(t, {
  config: { readMaxRows: 5000 },
  pending: { cacheBytes: 0 },
  wrap: (db) => ({
    ...db,
    rows: (statement) => {
      const [, settings = ''] = /SETTINGS (.*)$/s.exec(statement.sql) ?? [];
      const isRead = isSlow && statement.account !== undefined && settings !== '';
      const cost = settings.replace(/max_rows_to_read = \d+/, 'max_rows_to_read = 0');
      return db.rows(isRead ? { ...statement, sql: `${endless} SETTINGS ${cost}` } : statement);
    },
    stream: (statement) =>
      db.stream(isSlow ? { ...statement, sql: endless.replace('_records', 'r'), settings: '' } : statement),
  }),
});
const structure = structureOf('p', 'many', fieldsOf('number NUMBER'));
const many = spaceOf(harness, 'p', 'many', structure);
const few = { 'test-limits': JSON.stringify({ maxRows: 1000 }) };
const more = { 'test-limits': JSON.stringify({ maxRows: 100_000 }) };
const all = { 'test-limits': JSON.stringify({ maxRows: 0 }) };
const refusal = (text: RegExp) => ({ status: 422, code: 'query_too_expensive', problems: [text] });

t.test('a token may read less than others, or more', async (t) => {
  await many.insert(Array.from({ length: 8000 }, (_, number) => ({ number })));
  const count = (headers = {}) =>
    harness.call({ path: '/p/many/_count_', structure, query: 'number[lt]=7000', headers });
  const body = { values: { n: 'count' }, where: { number: { lt: 7000 } } };
  const aggregate = (headers = {}) => harness.call({ path: '/p/many/_aggregate_', structure, body, headers });
  const usual = refusal(/READ_MAX_ROWS allows 5000/);
  // refusals and answers of one are not those of another, in whatever order they come
  for (let round = 0; round < 2; round++) {
    for (const [ask, found] of [
      [count, { count: 7000 }],
      [aggregate, [{ n: 7000 }]],
    ] as const) {
      t.match(await ask(few), refusal(/would read 8 thousand records, and the access token allows 1000/));
      t.strictSame((await ask(more)).body, found);
      t.match(await ask(), usual);
      t.strictSame((await ask(all)).body, found);
    }
  }
  const find = (headers: Record<string, string>, at: number) =>
    many.find(`number[gt]=${7990 + at}`, undefined, headers);
  // several share a statement
  const answers = await Promise.all([few, {}, more, {}, few, more, few, {}].map(find));
  t.strictSame(
    answers.map(({ status }) => status),
    [422, 422, 200, 422, 422, 200, 422, 422],
  );
});

t.test('a token may read for a shorter time', async (t) => {
  isSlow = true;
  const short = { 'test-limits': JSON.stringify({ maxRows: 0, timeout: 200 }) };
  const late = refusal(/takes the engine longer than the 200 ms that the access token allows/);
  const query = 'number[lt]=3';
  t.match(await harness.call({ path: '/p/many/_count_', structure, query, headers: short }), late);
  t.match(await many.find(query, undefined, short), late);
  const paged = { pagination: { limit: 2000, page: 1 } };
  t.match(await many.find('', { ...paged, sort: { by: 'number', order: 'asc' } }, short), late);
  isSlow = false;
});

t.test('limits are stored with a token', async (t) => {
  const { db } = harness;
  const database = testDatabase;
  const deployment = await openDeployment({ db, database });
  const tokens = new AccessTokens({ db, database, deployment });
  const check = new TokenCheck({ ...everyToken, tokens, log: silentLog(), singleWriter: true });
  t.teardown(() => check.close());
  const users = new Users({ db, database });
  const execute = (order: TokenOrder) => executeTokenOrder({ users, tokens, tokenCheck: check }, order);
  const email = 'a@example.com';
  const make = (limits?: object) =>
    execute({ action: 'create', email, createUser: true, name: 'n', expiresIn: null, limits });
  const authenticate = createAuthenticate(check);
  const limitsOf = async (token: string) =>
    (await authenticate(fakeRequest({ headers: { authorization: `Bearer ${token}` } }))).limits;
  t.equal(await limitsOf(await make()), undefined);
  for (const limits of [{ maxRows: 1e15 }, { timeout: 200 }, { maxRows: 0, timeout: 3_600_000 }])
    t.strictSame(await limitsOf(await make(limits)), limits);
  t.match(
    await execute({ action: 'list', email }),
    /reads any number of records {2}reads for 3600000 ms {2}n$/,
  );
});
