/** Times, days, whole numbers and decimals in live queries and calls of webhooks. */
import t from 'tap';
import type { RecordEvent } from '#kernel/record-events/record-event.ts';
import { equalsFind, liveSpace } from '../services/live-spaces.ts';
import { queryHarnessFor, spaceOf, testWebhooks } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);

/** Values in their order, and other writings of the middle one: in a query, and in JSON. */
const cases: Readonly<
  Record<string, readonly [values: readonly [unknown, unknown, unknown], query: string, json: unknown]>
> = {
  DATETIME: [
    ['0001-01-01T00:00:00.000Z', '2026-01-31T12:00:00.000001Z', '9999-12-31T23:59:59.999999Z'],
    '2026-01-31T13:00:00.000001+01:00',
    '2026-01-31t11:00:00.000001-01:00',
  ],
  DATE: [['0001-01-01', '2026-01-31', '9999-12-31'], '2026-01-31', '2026-01-31'],
  INTEGER: [[-9007199254740991, 0, 9007199254740991], '+0', -0],
  BIGINT: [
    ['-9223372036854775808', '9007199254740993', '9223372036854775807'],
    '+9007199254740993',
    '09007199254740993',
  ],
  DECIMAL: [['-9999999999999999.99', '12.30', '9999999999999999.99'], '12.300', 12.3],
};
const fields = (type: string): FieldInput[] => [
  { name: 'a', type, ...(type === 'DECIMAL' && { precision: 18, scale: 2 }) },
  ...fieldsOf('name TEXT'),
];

for (const [type, [[low, middle, high], query, json]] of Object.entries(cases))
  t.test(type, async (t) => {
    const space = liveSpace(t, () => sluice, type.toLowerCase(), fields(type));
    const [one, two] = await space.insert([
      { name: 'one', a: low },
      { name: 'two', a: json },
    ]);
    const text = encodeURIComponent(query);
    const above = `?a[gte]=${text}`;
    const by = { method: 'POST', body: { $or: [{ a: { gt: json } }, { a: low }] } };
    const clients = [
      { client: await space.watch(above), find: () => space.find(above) },
      { client: await space.watch(`?a=${text}`), find: () => space.find(`?a=${text}`) },
      { client: await space.watch('/_find_', by), find: () => space.send('/_find_', by.body) },
    ];
    const [watched] = clients.map(({ client }) => client);
    for (const { client } of clients) t.equal(client.status, 200, client.text);
    const enter = await space.update(one?.id ?? '', { a: high });
    const change = await space.update(one?.id ?? '', { a: json, name: 'changed' });
    t.match(change, { a: middle });
    const leave = await space.update(two?.id ?? '', { a: low });
    await watched?.until(() => watched.events.length === 5);
    t.strictSame(
      watched?.events.slice(2).map(({ type, data }) => [type, data]),
      [
        ['enter', enter],
        ['change', change],
        ['leave', { id: leave.id }],
      ],
    );
    await space.insert([{ a: high }, { a: middle }, { a: low }, { a: null }, { a: json }]);
    await space.remove(one?.id ?? '');
    for (const { client, find } of clients) await equalsFind(t, client, (await find()) as never);
  });

t.test('an increment brings a record into a live query', async (t) => {
  const space = liveSpace(t, () => sluice, 'increments', fields('DECIMAL'));
  const [{ id } = { id: '' }] = await space.insert([{ a: '0.05' }]);
  const client = await space.watch('?a[gte]=0.10');
  const entered = await space.update(id, { a: { $inc: '0.05' } });
  t.match(entered, { a: '0.10' });
  await client.until(() => client.events.length === 3);
  t.match(client.events[2], { type: 'enter', data: entered });
});

t.test('webhooks are sent values as they are answered', async (t) => {
  const calls: unknown[][] = [];
  const publish = async ({ records }: RecordEvent): Promise<void> => {
    calls.push(Array.from(records, ({ json }) => JSON.parse(json) as unknown));
  };
  const harness = await queryHarnessFor(t, {
    webhooks: (db) => Object.assign(testWebhooks({ db, singleWriter: true }), { publish }),
  });
  const webhooks = { onInsertUrl: 'http://10.0.0.1/insert', onUpdateUrl: 'http://10.0.0.1/update' };
  for (const [type, [[low, middle, high], , json]] of Object.entries(cases)) {
    calls.length = 0;
    const space = spaceOf(harness, 'p', type.toLowerCase(), fields(type), { webhooks });
    const { body: inserted } = await space.insert([{ a: low }, { a: json }, { a: high }, { a: null }]);
    const { body: updated } = await space.updateOneById(inserted[0].id, { a: json });
    t.match(updated, { a: middle });
    t.strictSame(calls, [inserted, [updated]], type);
  }
});
