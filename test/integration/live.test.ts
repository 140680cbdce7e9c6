/** Live queries: a client has what a find would answer, and hears what happens to it. */
import t, { type Test } from 'tap';
import type { LiveClient, LiveRecord } from '../services/live-client.ts';
import { equalsFind, liveSpace } from '../services/live-spaces.ts';
import { call, fieldsOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const fields = fieldsOf(
  'name TEXT, n NUMBER, on BOOLEAN, tags ARRAY, extra OBJECT, code TEXT unique, secret TEXT hashed',
);
const spaceOf = (test: Pick<Test, 'teardown'>, slug: string, given = fields) =>
  liveSpace(test, () => sluice, slug, given);
const shown = (client: LiveClient, from: number) =>
  client.events.slice(from).map(({ type, data }) => [type, data]);

t.test('records come, change and go', async (t) => {
  const space = spaceOf(t, 'basic');
  const [ada, bob] = (await space.insert([
    { name: 'ada', n: 1 },
    { name: 'bob', n: 2 },
  ])) as [LiveRecord, LiveRecord];
  const client = await space.watch('?n[gte]=2');
  t.match(client.headers, { 'content-type': /^text\/event-stream/, 'cache-control': /no-store/ });
  t.match(client.text, /^retry: \d+\nid: /);
  t.strictSame(client.types(), ['snapshot', 'ready']);
  t.strictSame(client.events[0]?.data, await space.find('?n[gte]=2'));
  const entered = await space.update(ada.id, { n: 3 });
  const changed = await space.update(ada.id, { name: 'A"d\na' });
  const left = await space.update(bob.id, { n: 0 });
  await space.update(bob.id, { name: 'nobody hears' });
  await space.remove(ada.id);
  await client.until(() => client.events.length === 6);
  t.strictSame(shown(client, 2), [
    ['enter', entered],
    ['change', changed],
    ['leave', { id: left.id }],
    ['leave', { id: ada.id }],
  ]);
  t.equal(new Set(client.events.slice(1).map(({ id }) => id)).size, 5, 'each with an id of its own');
});

t.test('conditions in the query, by QUERY and by POST, and what is shown', async (t) => {
  const space = spaceOf(t, 'asked');
  await space.insert([{ name: 'none', on: true, n: 99 }]);
  const where = { n: { in: [1, 2] }, $select: ['name'] };
  const or = { headers: { options: JSON.stringify({ paramRelationship: 'Or' }) } };
  const asks = [
    ['?n=1', {}, (n: number) => n === 1],
    ['?n[in]=1&n[in]=2', {}, (n: number) => n <= 2],
    ['?n[gte]=2&name[contains]=3', {}, (n: number) => n === 3],
    ['?n=1&name=x3', or, (n: number) => n === 1 || n === 3],
    ['?$or[0][n]=1&$or[1][name][startsWith]=x4', {}, (n: number) => n === 1 || n === 4],
    ['?tags[has]=t2', {}, (n: number) => n === 2],
    ['?tags[eq]=["t2"]', {}, (n: number) => n === 2],
    ['?extra.a=3', {}, (n: number) => n === 3],
    ['?on=false', {}, (n: number) => n === 2],
    ['?on[exists]=false', {}, (n: number) => n === 4],
    ['?code[in]=c4&code[in]=c1', {}, (n: number) => n === 1 || n === 4],
    ['?createdAt[gte]=2020-01-01T00:00:00Z&n[nin]=2&n[nin]=99', {}, (n: number) => n !== 2],
    ['?$select=name&n=2', {}, (n: number) => n === 2],
    ['', { method: 'QUERY', body: where }, (n: number) => n <= 2],
    ['/_find_', { method: 'POST', body: where }, (n: number) => n <= 2],
    ['?n=1', { method: 'QUERY', body: { $limit: 5 } }, (n: number) => n === 1],
  ] as const;
  const clients = await Promise.all(asks.map(([query, more]) => space.watch(query, more)));
  const made = await space.insert(
    [1, 2, 3, 4].map((n) => ({
      name: `x${n}`,
      n,
      tags: [`t${n}`],
      extra: { a: n },
      code: `c${n}`,
      ...(n < 4 && { on: n % 2 === 1 }),
    })),
  );
  for (const [at, [query, more, isIn]] of asks.entries()) {
    const client = clients[at] as LiveClient;
    t.equal(client.status, 200, `${query} ${client.text}`);
    const found = await space.send(query, undefined, more);
    t.equal(found.length, made.filter(({ n }) => isIn(n as number)).length, query);
    await equalsFind(t, client, found, `${query} ${JSON.stringify(more)}`);
  }
  for (const { id } of made) await space.remove(id);
  for (const client of clients) await equalsFind(t, client, await space.find('?n=0'));
});

t.test('what a live query can not be', async (t) => {
  const space = spaceOf(t, 'refused');
  await space.insert(Array.from({ length: 12 }, (_, n) => ({ n })));
  const refused = async (query: string, status: number, code: string, problem: RegExp, more = {}) => {
    const client = await space.watch(query, more);
    await client.ended();
    t.equal(client.status, status, query);
    t.match(JSON.parse(client.text), { code }, client.text);
    t.match(client.text, problem);
  };
  const populate = [
    { space: 'x', fields: { from: 'x', foreignKey: 'id', localKey: 'name', newField: 'of' } },
  ];
  await refused('?$sort=n', 400, 'invalid_options', /no order/);
  await refused('?$count=exact', 400, 'invalid_options', /count/);
  await refused('?$limit=5&$page=2', 400, 'invalid_options', /one page/);
  await refused('?$limit=10001', 400, 'invalid_options', /at most 10000/);
  await refused('', 400, 'invalid_options', /one space/, {
    headers: { options: JSON.stringify({ populate }) },
  });
  await refused('?nothing=1', 400, 'invalid_condition', /nothing/);
  await refused('?secret=x&n=1', 422, 'query_too_expensive', /hashed/);
  const many = Array.from({ length: 11 }, (_, at) => `extra.k${at}=1`).join('&');
  await refused(`?${many}`, 422, 'query_too_expensive', /11 conditions/);
  await refused('?$limit=11', 413, 'too_many_records', /12/);
  await refused('', 401, 'unauthorized', /token/, { headers: { authorization: 'Bearer none' } });
  const head = await fetch(`${sluice.baseUrl}${space.path}`, {
    method: 'HEAD',
    headers: {
      authorization: `Bearer ${sluice.token}`,
      structure: space.structure,
      accept: 'text/event-stream',
    },
  });
  t.equal(head.status, 200);
  t.match(head.headers.get('content-type'), /^text\/event-stream/);
  const fits = await space.watch('?$limit=12');
  t.equal(fits.records.size, 12);
  await space.insert([{ n: 12 }]);
  await fits.until(() => fits.records.size === 13);
});

t.test('every write is heard', async (t) => {
  const space = spaceOf(t, 'written');
  await space.insert([{ name: 'first', code: 'a', n: 0 }]);
  const [all, some, few] = await Promise.all(
    ['', '?n[gte]=800', '?$select=n&name=upserted'].map((query) => space.watch(query)),
  );
  const same = async (message: string) => {
    await equalsFind(t, all as LiveClient, await space.find(), message);
    await equalsFind(t, some as LiveClient, await space.find('?n[gte]=800'), message);
    await equalsFind(t, few as LiveClient, await space.find('?$select=n&name=upserted'), message);
  };
  await space.insert(Array.from({ length: 1000 }, (_, n) => ({ name: 'many', n })));
  await same('many records at once');
  await space.send('/_update_', { where: { n: { lt: 20 } }, inc: { n: 800 } });
  await same('a change of many');
  await space.send('/_delete_', { where: { n: { lt: 400 } } });
  await same('a delete of many');
  const onConflict = { options: JSON.stringify({ onConflict: { field: 'code', do: 'update' } }) };
  const rows = [
    { code: 'b', name: 'upserted', n: 1 },
    { code: 'a', name: 'upserted', n: 9000 },
  ];
  await space.send('', rows, { headers: onConflict });
  await space.send('', [{ code: 'b', name: 'upserted', n: 9001 }], { headers: onConflict });
  await same('an upsert');
  await space.send('/update?code=b', { name: 'again', n: { $inc: 5 } });
  await same('an update by a condition');
  const csv = 'name,n,code\nimported,9100,z1\nimported,1,z2\n';
  const headers = { 'content-type': 'text/csv' };
  t.match(await call({ ...sluice, path: `${space.path}/_import_`, body: csv, headers }), { status: 202 });
  await all?.until(() => [...all.records.values()].some(({ code }) => code === 'z2'));
  await same('an import');
  const before = all?.events.length;
  await space.clear();
  await all?.until(() => all.types(before).includes('reset') && all.isReady);
  await same('nothing is left');
  await space.insert([{ name: 'new', n: 5000 }]);
  await same('and it goes on');
});

t.test('keys of a group are a record, too', async (t) => {
  const space = spaceOf(t, 'keys', fieldsOf('theme TEXT, size NUMBER'));
  await space.send('/set-structure', JSON.parse(space.structure));
  const client = await space.watch('?$select=theme');
  for (const keys of [{ theme: 'dark', size: 1 }, { size: 2 }, { theme: 'light' }]) {
    await space.send('/set-key-values', keys);
    await equalsFind(t, client, await space.find('?$select=theme'));
  }
  t.strictSame(client.types(), ['snapshot', 'ready', 'enter', 'change'], 'and not of what is not shown');
});
