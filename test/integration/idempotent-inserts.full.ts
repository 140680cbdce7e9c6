/** Inserts with an Idempotency-Key: a request that comes again stores nothing more, and gets the same answer. */
import t, { type Test } from 'tap';
import { sweepReceipts } from '#records/keyed-insert.ts';
import { responseBytes } from '../services/fake-request.ts';
import {
  type openQueryHarness,
  type QueryHarness,
  queryHarnessFor,
  testDatabase,
} from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';

const day = 24 * 3600 * 1000;
const structureAt = (project: string, space: string): string =>
  structureOf(project, space, fieldsOf('text TEXT, code TEXT unique, secret TEXT hashed'));
const structure = structureAt('p', 'notes');

async function setUp(t: Test, options: Parameters<typeof openQueryHarness>[0] = {}) {
  const harness = await queryHarnessFor(t, { hasher: quickHasher(), ...options });
  return { harness, ...requestsTo(harness) };
}

function requestsTo(harness: Pick<QueryHarness, 'call'>) {
  const insert = (key: string, body: unknown, { owner = 'owner', project = 'p', space = 'notes' } = {}) => {
    const path = `/${project}/${space}`;
    return harness.call({
      path: Array.isArray(body) ? path : `${path}/_single_`,
      structure: structureAt(project, space),
      body,
      owner,
      headers: { 'idempotency-key': key },
    });
  };
  const records = async (owner = 'owner'): Promise<{ id: string }[]> =>
    (await harness.call({ path: '/p/notes', structure, owner })).body;
  return { insert, records };
}

const many = Array.from({ length: 300 }, (_, n) => ({ text: `text ${n}`, code: `${n}` }));

t.test('the same key gets the same answer, and its records once', async (t) => {
  const { harness, insert, records } = await setUp(t);
  const bodies = [
    { text: 'one', code: 'a', secret: 'hush' },
    [{ text: 'two' }, { text: 'three', code: 'b' }],
    // by a statement of its own
    many,
  ];
  for (const [index, body] of bodies.entries()) {
    const first = await insert(`k${index}`, body);
    t.equal(first.status, 200);
    t.strictSame((await insert(`k${index}`, body)).text, first.text);
    await harness.restart();
    t.strictSame((await insert(`"k${index}"`, body)).text, first.text, 'after a restart');
  }
  t.equal((await records()).length, 303);
  const ids = (await records()).map(({ id }) => id);
  t.strictSame(ids, [...ids].sort(), 'in their order');
  t.equal(new Set(ids).size, 303);

  const one = { text: 'changed' };
  const { body } = await insert('k', one);
  await harness.call({
    path: '/p/notes/update-by-id',
    structure,
    query: `id=${body.id}`,
    body: { text: 'x' },
  });
  t.strictSame((await insert('k', one)).body, body, 'it is the answer of then');
  await harness.call({ method: 'DELETE', path: '/p/notes', structure, query: `id=${body.id}` });
  t.strictSame((await insert('k', one)).body, body);
  t.equal((await records()).length, 303, 'what was deleted does not come back');
});

t.test('the answer says that it is one of before', async (t) => {
  const { harness } = await setUp(t);
  const call = { path: '/p/notes', structure, body: [{ text: 'a' }], headers: { 'idempotency-key': 'k' } };
  const [first, second] = [await harness.respond(call), await harness.respond(call)];
  t.equal(first.headers?.['idempotent-replayed'], undefined);
  t.equal(second.headers?.['idempotent-replayed'], 'true');
  t.strictSame(await responseBytes(second), await responseBytes(first));
});

t.test('another request under the key is a 422', async (t) => {
  const { insert, records } = await setUp(t);
  await insert('k', { text: 'a' });
  for (const [body, more] of [
    [{ text: 'b' }, {}],
    [{ text: 'a', code: null }, {}],
    [[{ text: 'a' }], {}],
    [{ text: 'a' }, { space: 'others' }],
    [{ text: 'a' }, { project: 'q' }],
  ] as const) {
    const answer = await insert('k', body, more);
    t.match(answer, { status: 422, code: 'idempotency_key_reused' });
  }
  t.equal((await records()).length, 1);
});

t.test('of several at once one stores the records, and the others wait for it', async (t) => {
  const { insert, records } = await setUp(t);
  await insert('first', { text: 'the space is there' });
  const bodies = [{ text: 'x', code: 'once' }, [{ text: 'y' }, { text: 'z', code: 'twice' }]];
  for (const [index, body] of bodies.entries()) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => insert(`k${index}`, body)));
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
    t.equal(new Set(answers.map(({ text }) => text)).size, 1);
  }
  t.equal((await records()).length, 4);
});

t.test('a request that was refused leaves its key free', async (t) => {
  const { insert, records } = await setUp(t);
  t.match(await insert('k', { text: 1 }), { status: 400, code: 'invalid_value' });
  await insert('other', { code: 'taken' });
  t.match(await insert('k', { code: 'taken' }), { status: 400, code: 'not_unique' });
  t.match(await insert('k', { code: 'free' }), { status: 200 });
  t.equal((await records()).length, 2);
});

t.test('keys of accounts are their own, last for a day, and are swept', async (t) => {
  let now = Date.now();
  const { harness, insert, records } = await setUp(t, { now: () => now });
  const body = { text: 'a' };
  const first = (await insert('k', body)).body.id;
  t.not((await insert('k', { text: 'theirs' }, { owner: 'eve' })).body.id, first);
  now += day - 60_000;
  t.equal((await insert('k', body)).body.id, first);
  now += 120_000;
  const second = (await insert('k', { text: 'new' })).body.id;
  t.not(second, first);
  t.equal((await records()).length, 2);

  const { store } = harness;
  const receipts = async (): Promise<number> => {
    const [space = ''] = store.table.receiptSpaces(0);
    const rows = await store.db.rows<{ n: number }>(
      store.table.select(space, { columns: 'toFloat64(count()) AS n' }),
    );
    return rows[0]?.n ?? 0;
  };
  const log = silentLog();
  const sweep = (): Promise<void> =>
    sweepReceipts({ store, log, now: () => now }, new AbortController().signal);
  await sweep();
  t.equal(await receipts(), 3, 'those of yesterday may count');
  now += 2 * day;
  await sweep();
  t.equal(await receipts(), 0);
  t.strictSame(log.failures, []);
  t.equal((await records()).length, 2, 'records stay');
  const all = await harness.db.rows({ sql: `SELECT 1 FROM ${testDatabase}.records` });
  t.equal(all.length, 3);
});

t.test('a look-up that rows in memory answer finds receipts of large inserts as well', async (t) => {
  const { insert, records } = await setUp(t, { pending: { fewestMisses: 1 } });
  for (let i = 0; i < 5; i++) await insert(`small ${i}`, { text: `${i}` });
  const first = await insert('large', many);
  t.strictSame((await insert('large', many)).text, first.text);
  t.equal((await records()).length, 305);
});

t.test('a process that shares the store knows the keys of another', async (t) => {
  const { harness, insert } = await setUp(t, { singleWriter: false });
  const other = requestsTo(harness.another());
  for (const body of [{ text: 'a' }, many]) {
    const { text } = await insert(`k${JSON.stringify(body).length}`, body);
    t.strictSame((await other.insert(`k${JSON.stringify(body).length}`, body)).text, text);
  }
  t.equal((await other.records()).length, 301);
});

t.test('what is no key is a 400', async (t) => {
  const { insert, records } = await setUp(t);
  for (const key of ['', '""', 'x'.repeat(256), 'ä', 'a\nb']) {
    t.match(await insert(key, { text: 'a' }), { status: 400, code: 'invalid_header' }, JSON.stringify(key));
  }
  for (const key of ['x'.repeat(255), '"', `'; DROP TABLE x; --`, 'a, b', '__proto__']) {
    const { body } = await insert(key, { text: key });
    t.strictSame((await insert(key, { text: key })).body, body);
  }
  t.equal((await records()).length, 5);
});
