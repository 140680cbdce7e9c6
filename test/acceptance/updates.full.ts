import t, { type Test } from 'tap';
import { hostileValues } from '../services/hostile-texts.ts';
import { type Answer, call, type FieldInput, personFields, structureOf } from '../services/record-client.ts';
import { removeData, type Sluice, startSluice } from '../services/start-sluice.ts';

let sluice = await startSluice();
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
});

const project = 'updates';
const person: FieldInput[] = [
  ...personFields,
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'password', type: 'TEXT', hashed: true },
];

function space(slug: string, on: Sluice = sluice) {
  const path = `/${project}/${slug}`;
  const structure = structureOf(project, slug, person);
  const send = (
    suffix: string,
    more: { body?: unknown; method?: string; headers?: Record<string, string> } = {},
  ) => call({ baseUrl: on.baseUrl, token: on.token, structure, path: path + suffix, ...more });
  const query = (pairs: Record<string, string>): string => `?${new URLSearchParams(pairs)}`;
  return {
    send,
    insert: (body: unknown) => send('', { body }),
    find: (pairs: Record<string, string> = {}) => send(query(pairs)),
    update: (pairs: Record<string, string>, body: unknown, options?: object) =>
      send(`/update${query(pairs)}`, {
        body,
        headers: options === undefined ? {} : { options: JSON.stringify(options) },
      }),
    updateById: (id: string, body: unknown) => send(`/update-by-id${query({ id })}`, { body }),
    remove: (id: string) => send(query({ id }), { method: 'DELETE' }),
    clear: () => send('/clear-records', { method: 'DELETE' }),
    search: (searchText: string, ...names: string[]) =>
      send(
        `/search${query({ searchText })}${names.map((name) => `&searchableFields[]=${encodeURIComponent(name)}`).join('')}`,
      ),
    setKeys: (body: unknown) => send('/set-key-values', { body }),
    getKeys: () => send('/get-key-values'),
  };
}

function refused(t: Test, answer: Answer, code: string, ...problems: RegExp[]): void {
  t.match(
    answer,
    { status: 400, body: { statusCode: 400, code, error: problems.length === 0 ? Array : problems } },
    code,
  );
}

t.test('updateOne and updateOneById', async (t) => {
  const people = space('people');
  const [ada, grace] = (
    await people.insert([
      { fullName: 'Ada', age: 36 },
      { fullName: 'Grace', age: 85 },
    ])
  ).body;
  const changed = await people.updateById(ada.id, { age: 37, tags: ['x'], extra: { b: { c: 1 } } });
  t.equal(changed.status, 200);
  t.match(changed.headers.get('content-type'), /application\/json/);
  t.match(changed.body, {
    id: ada.id,
    fullName: 'Ada',
    age: 37,
    tags: ['x'],
    extra: { b: { c: 1 } },
    createdAt: ada.createdAt,
  });
  t.ok(changed.body.updatedAt > ada.updatedAt);
  const other = await people.update({ 'full-name': 'Grace' }, { 'full-name': 'Grace H.', active: true });
  t.match(other.body, { id: grace.id, fullName: 'Grace H.', age: 85, active: true });
  t.strictSame((await people.find()).body, [changed.body, other.body]);
  refused(t, await people.update({ fullName: 'nobody' }, { age: 1 }), 'no_match');
  refused(t, await people.updateById('nosuch', { age: 1 }), 'no_match', /nosuch/);
  refused(
    t,
    await people.send('/update-by-id', { body: { age: 1 } }),
    'invalid_condition',
    /'id' is missing/,
  );
  refused(
    t,
    await people.updateById(ada.id, { age: '1', nosuch: 1, fullName: null }),
    'invalid_value',
    /nosuch/,
    /age|fullName/,
    /age|fullName/,
  );
  refused(t, await people.updateById(ada.id, {}), 'invalid_body');
  refused(t, await people.update({ age: 'x' }, { age: 1 }), 'invalid_condition');
  refused(t, await people.update({}, { age: 1 }, { sort: { by: 'nosuch' } }), 'invalid_options');
  t.equal((await people.updateById(ada.id, { fullName: 'x'.repeat(1024 * 1024) })).status, 413);
  t.strictSame((await people.find()).body, [changed.body, other.body]);
});

t.test('hostile values in every place', async (t) => {
  const people = space('hostile');
  const { body } = await people.insert(hostileValues.map((_, age) => ({ fullName: `n${age}`, age })));
  for (const [age, text] of hostileValues.entries()) {
    const { id } = body[age];
    const changed = await people.updateById(id, {
      fullName: text,
      tags: [text],
      extra: { [text]: text },
      email: `${age}${text}`,
    });
    t.match(
      changed,
      { status: 200, body: { id, age, fullName: text, tags: [text], email: `${age}${text}` } },
      `value ${age}`,
    );
    t.strictSame(changed.body.extra, { [text]: text });
    t.strictSame((await people.find({ fullName: text })).body, [changed.body], `found ${age}`);
    t.match((await people.update({ fullName: text }, { active: true })).body, { id }, `condition ${age}`);
    refused(t, await people.updateById(`${text}?`, { age: -1 }), 'no_match');
    refused(t, await people.remove(`${text}?`), 'no_match');
    const found = (await people.search(text, 'full-name')).body.map((record: { id: string }) => record.id);
    t.ok(found.includes(id), `search ${age}`);
    if (text === '%' || text === '_') t.equal(found.length, 1, 'no wildcard');
  }
  t.strictSame(
    (await people.find()).body.map(({ age }: { age: number }) => age),
    hostileValues.map((_, age) => age),
  );
  refused(t, await people.updateById(body[0].id, `{"fullName":"\\ud800"}`), 'invalid_value', /surrogate/);
  refused(t, await people.updateById(body[0].id, '{"age":1e999}'), 'invalid_value', /number/);
  refused(
    t,
    await people.updateById(body[0].id, '{"__proto__":1,"constructor":2}'),
    'invalid_value',
    /__proto__/,
    /constructor/,
  );
});

t.test('unique and hashed fields', async (t) => {
  const people = space('users');
  const [a, b] = (
    await people.insert([
      { fullName: 'a', email: 'a', password: 'p1' },
      { fullName: 'b', email: 'b' },
    ])
  ).body;
  refused(t, await people.updateById(b.id, { email: 'a' }), 'not_unique', /email/);
  t.equal((await people.updateById(a.id, { email: 'a' })).status, 200);
  const race = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      i % 2 === 0 ? people.updateById(b.id, { email: 'c' }) : people.insert([{ fullName: 'c', email: 'c' }]),
    ),
  );
  const stored = race.filter(({ status }, i) => status === 200 && i % 2 === 1).length;
  const updated = race.some(({ status }, i) => status === 200 && i % 2 === 0) ? 1 : 0;
  t.equal(stored + updated, 1);
  t.equal((await people.find({ email: 'c' })).body.length, 1);
  const changed = await people.update({ email: 'a', password: 'p1' }, { password: 'p2' });
  t.notMatch(JSON.stringify(changed.body), /argon2|password/);
  t.equal((await people.find({ email: 'a', password: 'p2' })).body.length, 1);
  t.equal((await people.find({ email: 'a', password: 'p1' })).body.length, 0);
  refused(t, await people.update({ email: 'a', password: 'p1' }, { age: 1 }), 'no_match');
});

t.test('deleteOneById and clear', async (t) => {
  const people = space('deletes');
  const { body } = await people.insert([1, 2, 3].map((age) => ({ fullName: `n${age}`, age })));
  const answers = await Promise.all(Array.from({ length: 8 }, () => people.remove(body[1].id)));
  t.strictSame(
    answers.filter(({ status }) => status === 200).map((answer) => answer.body),
    [body[1]],
  );
  t.equal(answers.filter(({ status }) => status === 400).length, 7);
  t.strictSame((await people.find()).body, [body[0], body[2]]);
  refused(t, await people.send('', { method: 'DELETE' }), 'invalid_condition', /'id' is missing/);
  refused(t, await people.send('?id=a&id=b', { method: 'DELETE' }), 'invalid_condition', /2 times/);
  t.match(await people.clear(), { status: 200, body: { deleted: 2 } });
  t.strictSame((await people.find()).body, []);
  t.equal((await people.send('/clear-records')).status, 405);
});

t.test('search', async (t) => {
  const people = space('search');
  await people.insert([
    { fullName: 'Straße 5%', email: 'ÉCOLE' },
    { fullName: 'ΟΔΟΣ', email: 'plain' },
  ]);
  const names = async (text: string, ...fields: string[]): Promise<string[]> =>
    (await people.search(text, ...fields)).body.map(({ fullName }: { fullName: string }) => fullName);
  t.strictSame(await names('STRAẞE', 'fullName'), ['Straße 5%']);
  t.strictSame(await names('οδος', 'full-name'), ['ΟΔΟΣ']);
  t.strictSame(await names('école', 'fullName', 'email'), ['Straße 5%']);
  t.strictSame(await names('%', 'fullName', 'email'), ['Straße 5%']);
  t.strictSame(await names('l', 'email'), ['Straße 5%', 'ΟΔΟΣ']);
  t.equal((await people.send('/search?searchText=x&searchableFields=email')).status, 200);
  refused(t, await people.search('x', 'age'), 'invalid_condition', /'age'/);
  refused(t, await people.search('x', 'password'), 'invalid_condition', /hashed/);
  refused(t, await people.search('x'), 'invalid_condition', /searchableFields/);
});

t.test('setKeys and getKeys', async (t) => {
  const keys = space('keys');
  t.equal((await keys.getKeys()).body, null);
  const first = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      keys.setKeys({ fullName: 'k', [i % 2 === 0 ? 'age' : 'active']: i % 2 === 0 ? 1 : true }),
    ),
  );
  t.equal(new Set(first.map(({ body }) => body.id)).size, 1);
  t.match((await keys.getKeys()).body, { fullName: 'k', age: 1, active: true });
  t.match((await keys.setKeys({ tags: [1] })).body, { fullName: 'k', age: 1, tags: [1] });
  t.equal((await keys.find()).body.length, 1);
  refused(t, await keys.setKeys({ fullName: null }), 'invalid_value', /fullName/);
});

t.test('kill -9 during updates and deletes loses nothing acknowledged', async (t) => {
  const size = 60;
  const { body } = await space('killed').insert(
    Array.from({ length: size }, (_, age) => ({ fullName: 'start', age })),
  );
  const ids: string[] = body.map(({ id }: { id: string }) => id);
  /** What was acknowledged, and what may be there beside it. */
  const state = ids.map(() => ({
    age: new Set<unknown>(),
    fullName: new Set<unknown>(),
    gone: false,
    maybeGone: false,
  }));
  for (const [i, each] of state.entries()) {
    each.age.add(i);
    each.fullName.add('start');
  }
  let acknowledged = 0;
  let n = 1000;
  for (let round = 0; round < 4; round++) {
    const people = space('killed');
    let running = true;
    // each writer has records of its own, so that it knows what the last change was
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let step = 0; running; step++) {
        const i = (writer + 6 * ((step * 7) % 10)) % size;
        const each = state[i] as (typeof state)[number];
        if (each.gone || each.maybeGone) continue;
        const value = n++;
        // never all that a writer has
        const removes = step % 9 === 8 && i % 9 === 0;
        const field = step % 2 === 0 ? 'age' : 'fullName';
        const wanted = field === 'age' ? value : `v${value}`;
        if (removes) each.maybeGone = true;
        else each[field].add(wanted);
        try {
          const answer = await (removes
            ? people.remove(ids[i] as string)
            : people.updateById(ids[i] as string, { [field]: wanted }));
          if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
        } catch {
          // the server is being killed
          return;
        }
        acknowledged++;
        if (removes) each.gone = true;
        else each[field] = new Set<unknown>([wanted]);
      }
    });
    await new Promise((resolve) => setTimeout(resolve, 900));
    await sluice.kill();
    running = false;
    await Promise.all(writers);
    sluice = await sluice.restart();
    const found = new Map<string, { age: number; fullName: string }>(
      (await space('killed').find()).body.map((record: { id: string }) => [record.id, record]),
    );
    for (const [i, each] of state.entries()) {
      const record = found.get(ids[i] as string);
      if (record === undefined) {
        t.ok(each.maybeGone, `record ${i} of round ${round} was deleted`);
        each.gone = true;
        continue;
      }
      t.notOk(each.gone, `record ${i} of round ${round} is there`);
      each.maybeGone = false;
      t.ok(each.age.has(record.age), `age ${record.age} of record ${i} of round ${round}`);
      t.ok(each.fullName.has(record.fullName), `name ${record.fullName} of record ${i} of round ${round}`);
      each.age = new Set([record.age]);
      each.fullName = new Set([record.fullName]);
    }
  }
  t.ok(acknowledged > 50, `${acknowledged} acknowledged`);
  t.equal((await space('killed').clear()).status, 200);
  await sluice.kill();
  sluice = await sluice.restart();
  t.strictSame((await space('killed').find()).body, [], 'cleared for good');
});
