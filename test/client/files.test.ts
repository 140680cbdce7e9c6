/** Records as files: exports and imports of the client. */
import t from 'tap';
import {
  boolean,
  connect,
  count,
  exportFile,
  find,
  type ImportJob,
  importFile,
  insert,
  number,
  setStructure,
  space,
  text,
} from '#client/index.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { answer, cut, scriptedServer } from './scripted-server.ts';

const sluice = await sluiceFor(t);
const db = connect({ url: sluice.baseUrl, token: sluice.token, project: 'shop' });
const orders = space('orders', { city: text(), amount: number(), paid: boolean() });
const people = space('people', { email: text({ unique: true }), name: text() });

t.test('records are exported, in any format', async (t) => {
  await insert(db, orders, [
    { city: '=1+1', amount: 1, paid: true },
    { city: 'Rome', amount: 2 },
  ]);
  const csv = await exportFile(db, orders, 'csv', {
    where: { amount: { gte: 1 } },
    select: ['city', 'amount'],
    sort: ['-amount'],
    bom: true,
    escapeFormulas: true,
  });
  t.match(csv.headers.get('content-disposition'), /orders\.csv/);
  const bytes = Buffer.from(await csv.arrayBuffer());
  t.match(bytes.toString(), /^\uFEFF"id","city","amount"\r\n[^,]+,"Rome",2\r\n[^,]+,"'=1\+1",1\r\n$/);
  t.strictSame(await (await exportFile(db, orders, 'json')).json(), await find(db, orders));
  const parquet = Buffer.from(await (await exportFile(db, orders, 'parquet', { limit: 1 })).arrayBuffer());
  t.equal(parquet.subarray(-4).toString(), 'PAR1');
  const lines = await (await exportFile(db, orders, 'ndjson', { where: { paid: true } })).text();
  t.match(JSON.parse(lines), { amount: 1 });
});

t.test('a file becomes records', async (t) => {
  await setStructure(db, people);
  const seen: ImportJob['state'][] = [];
  const job = await importFile(db, people, 'email,Full name\na@x,Ada\ng@x,Grace\n', {
    type: 'text/csv',
    columns: { 'Full name': 'name' },
    onProgress: ({ state }) => seen.push(state),
  });
  t.match(job, { state: 'done', inserted: 2, records: 2, problems: [], error: null });
  t.equal(seen.at(-1), 'done');
  const blob = new Blob(['{"email":"a@x"}\n{"email":"b@x"}\n'], { type: 'application/x-ndjson' });
  const more = await importFile(db, people, blob, { onConflict: { on: 'email', do: 'skip' } });
  t.match(more, { inserted: 1, skipped: 1 });
  const stream = new Blob(['[{"email":"c@x"}]']).stream();
  t.match(await importFile(db, people, stream, { format: 'json' }), { inserted: 1 });
  t.equal(await count(db, people), 4);
});

t.test('a file with problems says them, and stores nothing', async (t) => {
  const problem = await rejectionOf(importFile(db, orders, 'city,amount\nOslo,x\n', { type: 'text/csv' }));
  t.match(problem, { code: 'import_failed', problems: [/^Line 2: amount /] });
  t.equal(await count(db, orders), 2);
  const some = await importFile(db, orders, 'city,amount\nOslo,x\nBern,3\n', {
    format: 'csv',
    onError: 'skip',
  });
  t.match(some, { inserted: 1, skipped: 1, problemCount: 1 });
});

t.test('an import is begun once, and an abort cancels it', async (t) => {
  const running = { id: 'j', state: 'running', error: null, problems: [] };
  const { url, heard } = await scriptedServer(t, [cut, answer(202, running), answer(200, running)]);
  const controller = new AbortController();
  const reason = new Error('enough');
  setTimeout(() => controller.abort(reason), 1500);
  const work = importFile({ ...db, url }, orders, 'city\n', { type: 'text/csv', signal: controller.signal });
  t.equal(await rejectionOf(work), reason);
  const [first, second] = heard;
  t.equal(first?.headers['idempotency-key'], second?.headers['idempotency-key']);
  t.match(heard.at(-1), { method: 'DELETE', url: '/_jobs_/j' });
});
