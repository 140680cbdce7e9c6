/**
 * A DECIMAL is a whole number in the engine, without its point. While another process changes the digits behind the point,
 * nothing may be stored or answered by the earlier number of digits.
 */
import t, { type Test } from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const stored = { 'use-pre-stored-structure': 'true' };
const priced = (scale: number): readonly FieldInput[] => [
  ...fieldsOf('code TEXT unique'),
  { name: 'price', type: 'DECIMAL', precision: 12, scale },
];

/** Called once, before the next statement that the harness writes records with. */
let beforeWrite: ((table: string) => Promise<void>) | null = null;
async function heard(table: string): Promise<void> {
  const called = beforeWrite;
  beforeWrite = null;
  await called?.(table);
}

/** Two processes that tell each other nothing: what one caches, the other can't know. */
const harness = await queryHarnessFor(t, {
  singleWriter: false,
  freshness: { freshFor: 50, staleAfter: 200, heardAfter: 200, outdatedAfter: 60_000 },
  wrap: (db) => ({
    ...db,
    async insert(statement) {
      if (/[.](records|import_\w+)$/.test(statement.table)) await heard(statement.table);
      return db.insert(statement);
    },
    async command(statement) {
      if (statement.sql.startsWith('UPDATE')) await heard(statement.sql);
      return db.command(statement);
    },
  }),
});
const other = harness.another();
const callOf = (by: Pick<typeof harness, 'call'>, slug: string) => ({
  ...spaceOf(by, 'p', slug, priced(2)),
  rescale: (scale: number) =>
    by.call({ path: `/p/${slug}/set-structure`, body: JSON.parse(structureOf('p', slug, priced(scale))) }),
  send: (path: string, body: unknown, query = '') =>
    by.call({ path: `/p/${slug}${path}`, body, query, headers: stored }),
});

/** The prices as answers have them, and their sum as the engine has it, by both processes. */
async function pricesOf(t: Test, slug: string) {
  const shown: unknown[] = [];
  for (const by of [harness, harness.another()]) {
    const { body } = await by.call({ path: `/p/${slug}`, headers: stored });
    const sums = await by.call({
      path: `/p/${slug}/_aggregate_`,
      body: { values: { sum: { sum: 'price' } } },
      headers: stored,
    });
    const prices = (body as { code: string; price: string | null }[]).map(({ code, price }) => [code, price]);
    shown.push({ ...Object.fromEntries(prices), sum: sums.body[0].sum });
  }
  t.strictSame(shown[0], shown[1], 'both processes agree');
  return shown[0];
}

async function importOf(
  t: Test,
  slug: string,
  csv: string,
  more: { query?: string; structure?: string } = {},
) {
  const { structure, query = '' } = more;
  const begun = await harness.call({
    method: 'POST',
    path: `/p/${slug}/_import_`,
    query,
    body: csv,
    ...(structure === undefined ? {} : { structure }),
    headers: { 'content-type': 'text/csv', ...(structure === undefined ? stored : {}) },
  });
  if (begun.status !== 202) throw new Error(begun.problems.join());
  let job = begun.body;
  const isOver = async (): Promise<boolean> => {
    job = (await harness.call({ path: `/_jobs_/${begun.body.id}` })).body;
    return job.endedAt !== null;
  };
  await eventuallyEqual(t, isOver, true);
  return job;
}

/** A space with two prices, whose digits the other process changes to three before the next write of the first. */
async function changedBefore(slug: string): Promise<{ readonly changes: QueryAnswer[] }> {
  await callOf(harness, slug).insert([
    { code: 'a', price: '1.25' },
    { code: 'b', price: '-0.50' },
  ]);
  const changes: QueryAnswer[] = [];
  beforeWrite = async () => void changes.push(await callOf(other, slug).rescale(3));
  return { changes };
}

t.test('an insert that was checked before the change is not acknowledged', async (t) => {
  const { changes } = await changedBefore('insert');
  t.match(await callOf(harness, 'insert').send('', [{ code: 'c', price: '7.75' }]), { status: 503 });
  t.match(changes, [{ status: 200 }]);
  t.strictSame(await pricesOf(t, 'insert'), { a: '1.250', b: '-0.500', c: null, sum: '0.750' });
  t.match(await callOf(harness, 'insert').send('', [{ code: 'd', price: '7.755' }]), { status: 200 });
  t.strictSame(await pricesOf(t, 'insert'), { a: '1.250', b: '-0.500', c: null, d: '7.755', sum: '8.505' });
});

t.test('nor is an update', async (t) => {
  const { changes } = await changedBefore('update');
  const updated = await callOf(harness, 'update').send('/update', { price: '7.75' }, 'code=a');
  t.match(updated, { status: 503 });
  t.match(changes, [{ status: 200 }]);
  t.strictSame(await pricesOf(t, 'update'), { a: '1.250', b: '-0.500', sum: '0.750' });
});

t.test('an import reads its file again', async (t) => {
  const { changes } = await changedBefore('import');
  t.match(await importOf(t, 'import', 'code,price\nc,7.75\nd,-8.5\n'), { state: 'done', inserted: 2 });
  t.match(changes, [{ status: 200 }]);
  t.strictSame(await pricesOf(t, 'import'), {
    ...{ a: '1.250', b: '-0.500', c: '7.750', d: '-8.500' },
    sum: '0.000',
  });
});

t.test('an import that also updates does, too', async (t) => {
  const { changes } = await changedBefore('upsert');
  const job = await importOf(t, 'upsert', 'code,price\na,7.75\nd,-8.5\n', {
    query: `onError=skip&onConflict=${encodeURIComponent('{"field":"code","do":"update"}')}`,
  });
  t.match(job, { state: 'done' }, job.error);
  t.match(changes, [{ status: 200 }]);
  t.strictSame(await pricesOf(t, 'upsert'), { a: '7.750', b: '-0.500', d: '-8.500', sum: '-1.250' });
});

t.test('an import that declared the digits fails, and stores nothing', async (t) => {
  const { changes } = await changedBefore('declared');
  const structure = structureOf('p', 'declared', priced(2));
  t.match(await importOf(t, 'declared', 'code,price\nc,7.75\n', { structure }), {
    state: 'failed',
    error: /structure of the record space was changed during the import/,
  });
  t.match(changes, [{ status: 200 }]);
  t.strictSame(await pricesOf(t, 'declared'), { a: '1.250', b: '-0.500', sum: '0.750' });
});

t.test('a request that may not change the structure names the digits that are stored', async (t) => {
  await callOf(harness, 'granted').insert([{ code: 'a', price: '1.25' }]);
  await callOf(harness, 'granted').rescale(3);
  const grants = JSON.stringify({ may: ['find', 'insert'] });
  const by = (scale: number) =>
    harness.call({
      path: '/p/granted',
      structure: structureOf('p', 'granted', priced(scale)),
      headers: { 'test-grants': grants },
    });
  t.match(await by(3), { status: 200, body: [{ price: '1.250' }] });
  t.match(await by(2), { status: 403, code: 'not_granted' });
});

t.test('a page goes on by the digits that the field has by then', async (t) => {
  const space = callOf(harness, 'pages');
  await space.insert(['1.25', '3.50', '9.75'].map((price, i) => ({ code: `c${i}`, price })));
  const after = (value: string, id: string) =>
    harness.call({
      path: '/p/pages',
      headers: {
        ...stored,
        options: JSON.stringify({
          sort: { by: 'price', order: 'asc' },
          pagination: { limit: 5, after: { id, value } },
        }),
      },
    });
  const { body } = await space.find('price=1.25');
  await space.rescale(3);
  t.match(await after('1.25', body[0].id), { body: [{ price: '3.500' }, { price: '9.750' }] });
  await space.rescale(2);
  t.match(await after('1.250', body[0].id), { body: [{ price: '3.50' }, { price: '9.75' }] });
  t.match(await after('1.255', body[0].id), {
    status: 400,
    problems: [/more than 2 digits behind the point/],
  });
});
