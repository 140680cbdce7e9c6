import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

t.test('a record is found by its time as other languages write it', async (t) => {
  const things = spaceOf(harness, 'p', 'times', fieldsOf('a TEXT'));
  const { body: made } = await things.insertOne({ a: 'x' });
  const found = async (time: string) => (await things.find([['createdAt', time]])).body;
  const elsewhere = new Date(Date.parse(made.createdAt) + 2 * 3_600_000).toISOString().slice(0, -1);
  for (const time of [made.createdAt, made.createdAt.toLowerCase(), `${elsewhere}000+02:00`]) {
    t.strictSame(await found(time), [made], time);
  }
  for (const time of ['9999-12-31T23:59:59.999Z', '0000-01-01T00:00:00Z'])
    t.strictSame(await found(time), []);
  const ids = async (operator: string, time: string) =>
    (await things.find([[`createdAt[${operator}]`, time]])).body.map(({ id }: { id: string }) => id);
  const between = made.createdAt.replace('Z', '400Z');
  for (const [operator, isFound] of [
    ...([
      ['gt', false],
      ['gte', false],
      ['lt', true],
      ['lte', true],
    ] as const),
    ...([
      ['eq', false],
      ['in', false],
      ['ne', true],
      ['nin', true],
    ] as const),
  ])
    t.strictSame(
      await ids(operator, between),
      isFound ? [made.id] : [],
      `${operator} between two milliseconds`,
    );
  t.strictSame(await found(between), []);
  const behind = {
    sort: { by: 'createdAt' },
    pagination: { limit: 1, after: { id: '0', value: '0000-01-01T00:00:00Z' } },
  };
  t.strictSame((await things.find('', behind)).body, [made]);
  const after = { id: '0', value: between };
  t.equal((await things.find('', { ...behind, pagination: { limit: 1, after } })).status, 400);
});
