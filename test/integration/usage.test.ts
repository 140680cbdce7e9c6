/** What accounts use, by project and day: counted by each process, added to a table, and answered by GET /_usage_. */
import t, { type Test } from 'tap';
import { dayOf, UsageCounts, type UsageFigures } from '#catalogue/usage-counts.ts';
import type { Database } from '#engine/database.ts';
import { wholeContract } from '../services/contract.ts';
import { FaultyDatabase } from '../services/faulty-database.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { serveEverything } from '../services/serve-everything.ts';
import { silentLog } from '../services/silent-log.ts';

const { signal } = new AbortController();
const stores = { ...(await openMigratedChdb(t)), log: silentLog() };
const { database } = stores;
const today = dayOf(Date.now());
const ever = { from: '2000-01-01', to: '2199-12-31' };
const none: UsageFigures = { requests: 0, bytesIn: 0, files: 0, bytesStored: 0, recordsWritten: 0 };

const insertsOf = ({ asked }: FaultyDatabase) => asked.flatMap(({ insert = [] }) => insert);

function counting(db: Database, most?: number) {
  const warnings: { lost: number }[] = [];
  const log = { warn: (facts: object) => void warnings.push(facts as { lost: number }) };
  return { usage: new UsageCounts({ db, database, log }, most), warnings };
}

async function server(t: Test) {
  const usage = new UsageCounts(stores);
  const served = await serveEverything({ ...stores, bodyIdleTimeout: 10_000, usage });
  t.teardown(() => served.close());
  const ask = async (owner: string, path: string, init: RequestInit & { structure?: string } = {}) => {
    const { structure, ...more } = init;
    const headers = {
      authorization: 'Bearer good',
      'test-owner': owner,
      ...(structure === undefined ? {} : { structure }),
    };
    const response = await fetch(served.baseUrl + path, { ...more, headers });
    const text = await response.text();
    const { pathname } = new URL(served.baseUrl + path);
    const problem = (await wholeContract()).problemOf({
      method: more.method ?? 'GET',
      path: pathname,
      status: response.status,
      body: text,
      headers: Object.fromEntries(response.headers),
    });
    if (problem !== null) throw new Error(problem);
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  /** Once the figures say so: a request is counted when it is over, which may be after its answer has arrived. */
  const daysOf = async (owner: string, requests: number) => {
    for (;;) {
      const { body } = await ask(owner, '/_usage_');
      const sum = body.days.reduce((sum: number, day: UsageFigures) => sum + day.requests, 0);
      if (sum >= requests) return body.days;
    }
  };
  return { usage, ask, daysOf };
}

t.test('records, files and requests are counted at once, for their account alone', async (t) => {
  const { usage, ask, daysOf } = await server(t);
  const owner = 'counted';
  const structure = structureOf('shop', 'people', fieldsOf('name TEXT'));
  const all = '{"all":true,"set":{"name":"f"}}';
  const bodies = ['[{"name":"a"},{"name":"b"},{"name":"c"}]', '{"name":"d"}', '{"name":"e"}', all];
  const [several = '', one = '', change = ''] = bodies;
  await ask(owner, '/shop/people', { method: 'POST', structure, body: several });
  const { body: record } = await ask(owner, '/shop/people/_single_', {
    method: 'POST',
    structure,
    body: one,
  });
  const byId = `id=${record.id}`;
  await ask(owner, `/shop/people/update-by-id?${byId}`, { method: 'POST', structure, body: change });
  await ask(owner, `/shop/people?${byId}`, { method: 'DELETE', structure });
  await ask(owner, '/shop/people/_update_', { method: 'POST', structure, body: all });
  // nothing is written by these, and the last two are requests of no project
  t.equal((await ask(owner, `/shop/people?${byId}`, { method: 'DELETE', structure })).status, 400);
  await ask(owner, '/shop/people', { structure });
  await ask(owner, '/_projects_');
  t.equal((await ask(owner, '/_projects_/...', { method: 'DELETE' })).status, 400);

  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(1234)]), 'a.txt');
  t.equal((await ask(owner, '/_f_/photos/upload', { method: 'POST', body: form })).status, 200);

  const days = await daysOf(owner, 7);
  const { bytesIn } = days[0];
  t.ok(bytesIn > 1234 && bytesIn < 2000, `${bytesIn} bytes of a form`);
  const expected = [
    { ...none, date: today, project: 'photos', requests: 1, bytesIn, files: 1, bytesStored: 1234 },
    {
      ...none,
      date: today,
      project: 'shop',
      requests: 7,
      bytesIn: bodies.join('').length,
      recordsWritten: 9,
    },
  ];
  t.strictSame(days, expected);
  t.strictSame((await ask('somebody else', '/_usage_')).body, { days: [] });

  await usage.write();
  t.strictSame((await ask(owner, '/_usage_')).body.days, expected, 'what is written counts no more');
  await ask(owner, '/shop/people', { structure });
  t.match(await daysOf(owner, 8), [{ project: 'photos' }, { project: 'shop', requests: 8 }]);
  await usage.write();
  t.match(await daysOf(owner, 8), [{ project: 'photos' }, { project: 'shop', requests: 8 }]);
  const another = new UsageCounts(stores);
  t.match(await another.of(owner, ever, signal), [{ files: 1 }, { requests: 8, recordsWritten: 9 }]);
});

t.test('days are checked', async (t) => {
  const { ask } = await server(t);
  const bad = [
    ...'from=yesterday from=2026-02-30&to=2026-03-01 to=2026-11-22T00:00:00Z'.split(' '),
    ...'from=2026-11-23&to=2026-11-22 from=2025-11-21&to=2026-11-22'.split(' '),
    ...'from=2026-11-22&from=2026-11-22 since=2026-11-22 from='.split(' '),
  ];
  for (const query of bad) t.equal((await ask('days', `/_usage_?${query}`)).status, 400, query);
  const good = ['', 'from=2025-11-22&to=2026-11-22', 'to=1970-01-01', 'from=2199-01-01&to=2199-12-31'];
  for (const query of good)
    t.same(await ask('days', `/_usage_?${query}`), { status: 200, body: { days: [] } });
});

t.test('what an INSERT could not store is kept, and counts once', async (t) => {
  const faulty = new FaultyDatabase();
  const { usage, warnings } = counting(faulty.wrap(stores.db));
  const account = 'kept';
  const add = () => usage.add(account, 'p', { requests: 1, bytesIn: 10 });
  const figures = async () => (await usage.of(account, ever, signal))?.map(({ requests }) => requests);
  for (const fault of ['fails', 'fails', 'losesAnswer'] as const) {
    faulty.fails = faulty.losesAnswer = () => false;
    faulty[fault] = ({ verb }) => verb === 'INSERT';
    add();
    await usage.write();
  }
  t.equal(warnings.length, 3);
  faulty.losesAnswer = () => false;
  add();
  await usage.close();
  t.strictSame(await figures(), [4]);
  t.strictSame(await new UsageCounts(stores).of(account, ever, signal), [
    { ...none, date: today, project: 'p', requests: 4, bytesIn: 40 },
  ]);
  const tokens = insertsOf(faulty).map(({ token }) => token);
  t.equal(new Set(tokens).size, 2, 'what failed is sent as it was');
});

t.test('memory is bounded', async (t) => {
  const faulty = new FaultyDatabase();
  const { usage, warnings } = counting(faulty.wrap(stores.db), 3);
  const account = 'bounded';
  const add = (project: number) => usage.add(account, `p${project}`, { requests: 1 });
  for (let i = 0; i < 3; i++) add(i);
  t.equal(insertsOf(faulty).length, 0);
  add(3);
  t.equal(insertsOf(faulty).length, 1, 'it is written at once when there are so many');
  await usage.write();
  faulty.fails = ({ verb }) => verb === 'INSERT';
  for (let i = 4; i < 20; i++) add(i);
  await usage.write();
  // a known project is counted on
  add(8);
  await usage.write();
  faulty.fails = () => false;
  await usage.close();
  const days = (await new UsageCounts(stores).of(account, ever, signal)) ?? [];
  const lost = warnings.reduce((sum, facts) => sum + facts.lost, 0);
  t.ok(lost > 0, `${lost} counts had no place`);
  t.equal(days.reduce((sum, { requests }) => sum + requests, 0) + lost, 21);
  t.ok(insertsOf(faulty).every(({ lines }) => Buffer.from(lines).toString().trim().split('\n').length <= 3));
});

t.test('a look while counts are written sees each once', async (t) => {
  const usage = new UsageCounts(stores);
  for (let i = 1; i <= 20; i++) {
    usage.add('looking', 'p', { requests: 1 });
    const [days] = await Promise.all([usage.of('looking', ever, signal), usage.write()]);
    t.match(days, [{ requests: i }]);
  }
});
