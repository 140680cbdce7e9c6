/** Inserts with `Prefer: return=minimal`, whose answer has counts and no records. */
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const minimal = { prefer: 'return=minimal' };
const people = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `p${at}`, age: at }));

let spaces = 0;
function newSpace() {
  const slug = `people-${++spaces}`;
  const structure = structureOf('demo', slug, fieldsOf('name TEXT unique, age NUMBER'));
  const path = `/demo/${slug}`;
  const one = { ...sluice, structure };
  return {
    insert: (body: unknown, headers: Record<string, string> = {}) => call({ ...one, path, body, headers }),
    insertOne: (body: unknown, headers: Record<string, string> = {}) =>
      call({ ...one, path: `${path}/_single_`, body, headers }),
    count: async (): Promise<number> => (await call({ ...one, path: `${path}/_count_` })).body.count,
  };
}

t.test('counts alone', async (t) => {
  const space = newSpace();
  const many = await space.insert(people(5000), minimal);
  t.equal(many.status, 201);
  t.strictSame(many.body, { inserted: 5000 });
  t.equal(many.headers.get('preference-applied'), 'return=minimal');
  t.match(many.headers.get('access-control-expose-headers'), /\bpreference-applied\b/);
  const one = await space.insertOne({ name: 'one' }, minimal);
  t.match(one, { status: 200, body: { name: 'one' } }, 'insertOne answers its record');
  t.equal(await space.count(), 5001);
});

t.test('other preferences change nothing', async (t) => {
  for (const prefer of [
    'return=representation',
    'respond-async',
    'return',
    'return=representation, return=minimal',
  ]) {
    const { status, body, headers } = await newSpace().insert(people(2), { prefer });
    t.equal(status, 200, prefer);
    t.match(body, people(2), prefer);
    t.equal(headers.get('preference-applied'), null, prefer);
  }
});

t.test('a refusal is the same', async (t) => {
  const space = newSpace();
  await space.insert(people(2), minimal);
  const answer = await space.insert(people(3), minimal);
  t.match(answer, { status: 400, body: { code: 'not_unique' } });
  t.equal(answer.headers.get('preference-applied'), null);
  t.match(await space.insert([], minimal), { status: 400, body: { code: 'invalid_body' } });
  t.equal(await space.count(), 2);
});

t.test('a repeated request may prefer another answer', async (t) => {
  const space = newSpace();
  const key = { 'idempotency-key': 'minimal-1' };
  const first = await space.insert(people(3), { ...key, ...minimal });
  t.equal(first.headers.get('idempotent-replayed'), null);
  const again = await space.insert(people(3), { ...key, ...minimal });
  t.match(again, { status: 201, body: { inserted: 3 } });
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  const records = await space.insert(people(3), key);
  t.match(records, { status: 200, body: people(3) });
  t.equal(await space.count(), 3);
});

t.test('onConflict counts what was inserted, changed and left', async (t) => {
  const space = newSpace();
  await space.insert(people(2));
  const onConflict = (action: string) => ({
    ...minimal,
    options: JSON.stringify({ onConflict: { field: 'name', do: action } }),
  });
  const some = [{ name: 'p0', age: 7 }, { name: 'p1' }, { name: 'new' }];
  const updated = await space.insert(some, onConflict('update'));
  t.equal(updated.status, 201);
  t.strictSame(updated.body, { inserted: 1, updated: 1, skipped: 1 }, 'p1 brought no value to change');
  const skipped = await space.insert([...some, { name: 'newer' }], onConflict('skip'));
  t.strictSame(skipped.body, { inserted: 1, updated: 0, skipped: 3 });
});

t.test('a page of another origin may ask for it', async (t) => {
  const response = await fetch(`${sluice.baseUrl}/demo/people-1`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, prefer',
    },
  });
  t.match(response.headers.get('access-control-allow-headers'), /\bprefer\b/);
});
