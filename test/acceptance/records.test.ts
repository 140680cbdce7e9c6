import t, { type Test } from 'tap';
import { hostileValues } from '../services/hostile-texts.ts';
import { type Answer, call, type FieldInput, personFields, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { PUBLC_URL: 'https://files.example.com' } });

t.test('a variable whose name is nearly one of ours is a warning at the start', async (t) => {
  const lines = `${sluice.stdout()}${sluice.stderr()}`
    .split('\n')
    .filter((line) => line.includes('PUBLC_URL'));
  t.match(lines, [/"level":40,.*did you mean PUBLIC_URL\?/]);
  t.equal(lines.length, 1);
});

const project = 'records';

interface Space {
  insert(records: unknown, headers?: Record<string, string>): Promise<Answer>;
  insertOne(record: unknown, headers?: Record<string, string>): Promise<Answer>;
  find(query?: string, options?: object | string, headers?: Record<string, string>): Promise<Answer>;
  findOne(query?: string, options?: object): Promise<Answer>;
}

function space(slug: string, fields = personFields, more: object = {}): Space {
  const structure = structureOf(project, slug, fields, more);
  const base = { baseUrl: sluice.baseUrl, token: sluice.token, structure };
  const optionsHeader = (options?: object | string): Record<string, string> =>
    options === undefined ? {} : { options: typeof options === 'string' ? options : JSON.stringify(options) };
  return {
    insert: (body, headers = {}) => call({ ...base, path: `/${project}/${slug}`, body, headers }),
    insertOne: (body, headers = {}) => call({ ...base, path: `/${project}/${slug}/_single_`, body, headers }),
    find: (query = '', options, headers = {}) =>
      call({
        ...base,
        path: `/${project}/${slug}${query}`,
        headers: { ...optionsHeader(options), ...headers },
      }),
    findOne: (query = '', options) =>
      call({ ...base, path: `/${project}/${slug}/_single_${query}`, headers: optionsHeader(options) }),
  };
}

function refused(
  t: Test,
  answer: Answer,
  status: number,
  code: string,
  problems: (string | RegExp)[] = [],
): void {
  t.match(answer.body, { statusCode: status, code, error: Array, path: String, requestId: String }, code);
  t.equal(answer.status, status);
  for (const problem of problems) {
    t.ok(
      (answer.body.error as string[]).some((text) =>
        typeof problem === 'string' ? text.includes(problem) : problem.test(text),
      ),
      `${problem} in ${JSON.stringify(answer.body.error)}`,
    );
  }
}

t.test('records come back as they were stored, by name and by slug', async (t) => {
  const people = space('people');
  const { status, body } = await people.insert([
    { fullName: 'Ada', age: 36, active: true, tags: ['a', { b: 1 }], extra: { z: 1, a: [null] } },
    { 'full-name': 'Grace', age: null },
  ]);
  t.equal(status, 200);
  t.match(body, [
    { fullName: 'Ada', age: 36, active: true, tags: ['a', { b: 1 }], extra: { z: 1, a: [null] } },
    { fullName: 'Grace', age: null, active: null, tags: null, extra: null },
  ]);
  t.strictSame((await people.find()).body, body);
  t.strictSame((await people.find('?full-name=Grace')).body, [body[1]]);
  t.strictSame((await people.find('?fullName=Grace')).body, [body[1]]);
  t.strictSame((await people.find(`?id=${body[0].id}`)).body, [body[0]]);
  t.strictSame((await people.findOne('?tags=%5B%22a%22%2C%7B%22b%22%3A1%7D%5D')).body, body[0]);
  t.strictSame((await people.findOne('?extra=%7B%22a%22%3A%5Bnull%5D%2C%22z%22%3A1%7D')).body, body[0]);
  t.strictSame((await people.findOne('?age=37')).body, null);
});

t.test('both spellings of the field array are read', async (t) => {
  const fields = JSON.parse(structureOf(project, 'spelling', personFields)).recordStructure;
  const other = space('spelling', [], { recordStructure: undefined, recordFieldStructures: fields });
  t.equal((await other.insertOne({ fullName: 'x' })).status, 200);
  t.match((await space('spelling').find()).body, [{ fullName: 'x' }]);
});

t.test('values that do not fit their type are refused with one text a field', async (t) => {
  const people = space('misfits');
  const answer = await people.insertOne({ fullName: 1, age: 'x', active: 'yes', tags: {}, extra: [] });
  refused(t, answer, 400, 'invalid_value', [
    "Value for Body field: 'fullName' should be a valid string",
    "Value for Body field: 'age' should be a valid number",
    "Value for Body field: 'active' should be a valid boolean",
    "Value for Body field: 'tags' should be a valid array",
    "Value for Body field: 'extra' should be a valid object",
  ]);
  const unknown = await people.insertOne({ nickname: 'x' });
  refused(t, unknown, 400, 'invalid_value', [/nickname/, /fullName/]);
  for (const body of ['{}', '[]', '[1]', '[{}]', 'null', '"x"', '[{"fullName":"ok"},{"fullName":2}]']) {
    refused(t, await people.insert(body), 400, body.includes('2') ? 'invalid_value' : 'invalid_body');
  }
  refused(t, await people.insertOne('[{"fullName":"x"}]'), 400, 'invalid_body');
  t.strictSame((await people.find()).body, [], 'nothing of a refused request is stored');
});

t.test('conditions are typed, and hostile text is only text', async (t) => {
  const people = space('hostile');
  const names = hostileValues;
  await people.insert(names.map((fullName, age) => ({ fullName, age })));
  for (const [age, name] of names.entries()) {
    const found = await people.find(`?fullName=${encodeURIComponent(name)}`);
    t.strictSame(
      found.body.map((record: { age: number }) => record.age),
      [age],
      `name ${age}`,
    );
  }
  refused(t, await people.find('?age=x'), 400, 'invalid_condition', [/age/]);
  refused(t, await people.find('?age=1%20OR%201=1'), 400, 'invalid_condition');
  refused(t, await people.find('?nosuch=1&active=maybe'), 400, 'invalid_condition', [/nosuch/, /active/]);
  refused(t, await people.find('?tags=nojson&extra=%5B%5D'), 400, 'invalid_condition', [/tags/, /extra/]);
  t.equal((await people.find('?age=1e0')).body.length, 1);
  t.equal((await people.find('?age=+1')).status, 400, 'a plus sign in a query is a space');
  t.equal((await people.find('?age=%2B1')).body.length, 1);
});

t.test('options: And, Or, pages, order', async (t) => {
  const people = space('options');
  await people.insert([3, 1, 2].map((age) => ({ fullName: `n${age}`, age })));
  const ages = async (query: string, options?: object): Promise<number[]> =>
    (await people.find(query, options)).body.map((record: { age: number }) => record.age);
  t.strictSame(await ages('?age=1&fullName=n2', { paramRelationship: 'Or' }), [1, 2]);
  t.strictSame(await ages('?age=1&fullName=n2', { paramRelationship: 'And' }), []);
  t.strictSame(await ages('?age=1&age=2', { paramRelationship: 'Or' }), [1, 2]);
  t.strictSame(await ages('', { sort: { by: 'age', order: 'asc' } }), [1, 2, 3]);
  t.strictSame(await ages('', { sort: { by: 'fullName', order: 'desc' } }), [3, 2, 1]);
  t.strictSame(await ages('', { sort: { by: 'age', order: 'asc' }, pagination: { limit: 2, page: 2 } }), [3]);
  for (const bad of [
    '{',
    '[]',
    { paramRelationship: 'Xor' },
    { pagination: { limit: 0, page: 1 } },
    { pagination: { limit: 1, page: 0 } },
    { pagination: { limit: '1', page: 1.5 } },
    { sort: { by: 'nosuch', order: 'asc' } },
    { sort: { by: 'age', order: 'sideways' } },
    { sort: { by: 'age`; DROP', order: 'asc' } },
  ]) {
    refused(t, await people.find('', bad), 400, 'invalid_options');
  }
});

t.test('structures that are not right are refused with every problem', async (t) => {
  const send = (structure: string | undefined, path = `/${project}/wrong`) =>
    call({
      baseUrl: sluice.baseUrl,
      token: sluice.token,
      path,
      ...(structure === undefined ? {} : { structure }),
    });
  refused(t, await send(undefined), 400, 'missing_structure', ['Please set structure in Request Header']);
  for (const text of ['', '{', '[]', 'null', '"x"', '{}']) {
    const answer = await send(text);
    t.equal(answer.status, 400, text);
  }
  const answer = await send(
    structureOf('elsewhere', 'other', [
      { name: 'a', type: 'TEXT' },
      { name: 'a', type: 'DATE' },
      { name: 'b', slug: 'sl\nug', type: 'NUMBER', defaultValue: 'x' },
      { name: 'id', type: 'TEXT' },
    ]),
  );
  refused(t, answer, 400, 'invalid_structure', [
    /elsewhere/,
    /other/,
    /TEXT, NUMBER, BOOLEAN, ARRAY, OBJECT/,
    /control characters/,
    /\bid\b/,
  ]);
  t.ok(answer.body.error.length >= 5);
});

t.test('a field named like a part of an object is only a field', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];
  const odd = space(
    'odd',
    names.map((name, i) => ({ name, slug: `f${i}`, type: 'TEXT' })),
  );
  const body = `{${names.map((name) => `"${name}":"v"`).join(',')}}`;
  const stored = await odd.insertOne(body);
  t.equal(stored.status, 200, JSON.stringify(stored.body));
  t.equal((await odd.find('?__proto__=v&constructor=v')).body.length, 1);
  t.equal((await odd.find('?hasOwnProperty=w')).body.length, 0);
});

t.test('required, default and unique', async (t) => {
  const users = space('users', [
    { name: 'email', type: 'TEXT', required: true, unique: true },
    { name: 'level', type: 'NUMBER', required: true, defaultValue: 3 },
    { name: 'code', type: 'NUMBER', unique: true },
  ]);
  t.match((await users.insertOne({ email: 'a@x' })).body, { email: 'a@x', level: 3, code: null });
  refused(t, await users.insertOne({ level: 1 }), 400, 'invalid_value', [/email/]);
  refused(t, await users.insertOne({ email: 'a@x' }), 400, 'not_unique', [/email/]);
  refused(t, await users.insert([{ email: 'b@x' }, { email: 'b@x' }]), 400, 'not_unique', [/email/]);
  refused(
    t,
    await users.insert([
      { email: 'c@x', code: 1 },
      { email: 'd@x', code: 1 },
    ]),
    400,
    'not_unique',
    [/code/],
  );
  t.equal((await users.find()).body.length, 1, 'nothing of a refused request is stored');
  const race = await Promise.all(Array.from({ length: 200 }, () => users.insertOne({ email: 'race@x' })));
  t.equal(race.filter(({ status }) => status === 200).length, 1);
  t.equal(race.filter(({ status }) => status === 400).length, 199);
  t.equal((await users.find('?email=race@x')).body.length, 1);
});

t.test('hashed fields narrow what other conditions found', async (t) => {
  const accounts = space('accounts', [
    { name: 'email', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
  ]);
  const stored = await accounts.insertOne({ email: 'a', password: 'p1' });
  t.strictSame(Object.keys(stored.body).sort(), ['createdAt', 'email', 'id', 'updatedAt']);
  t.equal((await accounts.findOne('?email=a&password=p1')).body.email, 'a');
  t.equal((await accounts.findOne('?email=a&password=p2')).body, null);
  t.equal((await accounts.find('?email=a&password=p1')).body.length, 1);
  refused(t, await accounts.findOne('?password=p1'), 400, 'invalid_condition', [/password/]);
  refused(
    t,
    await accounts.find('?email=a&password=p1', { paramRelationship: 'Or' }),
    400,
    'invalid_condition',
  );
  t.notMatch(JSON.stringify((await accounts.find()).body), /argon2|password/);
});

t.test('the fixed headers are honoured in both values', async (t) => {
  const fresh = space('fresh');
  const none = await fresh.find('', undefined, { 'auto-create-record-space': 'false' });
  refused(t, none, 404, 'record_space_not_found', [/fresh/]);
  const noProject = await call({
    baseUrl: sluice.baseUrl,
    token: sluice.token,
    path: '/noproject/things',
    structure: structureOf('noproject', 'things', personFields),
    headers: { 'auto-create-project': 'false' },
  });
  refused(t, noProject, 404, 'project_not_found', [/noproject/]);
  refused(t, await fresh.find('', undefined, { 'clear-all-spaces': 'true' }), 400, 'clear_not_allowed');
  refused(
    t,
    await fresh.find('', undefined, { mutate: 'perhaps', 'auto-create-project': '1' }),
    400,
    'invalid_header',
    [/mutate/, /auto-create-project/],
  );
  t.strictSame((await fresh.find()).body, [], 'a read makes no space');
  refused(
    t,
    await fresh.find('', undefined, { 'auto-create-record-space': 'false' }),
    404,
    'record_space_not_found',
    [/fresh/],
  );
  t.equal((await fresh.insertOne({ fullName: 'Ada', age: 1 })).status, 200);
  t.equal((await fresh.find('', undefined, { 'auto-create-record-space': 'false' })).body.length, 1);
});

t.test('a structure may gain and lose fields, and not change a type', async (t) => {
  const before = space('growing', [{ name: 'a', type: 'TEXT' }]);
  await before.insertOne({ a: 'one' });
  const more: FieldInput[] = [
    { name: 'a', type: 'TEXT' },
    { name: 'b', type: 'NUMBER' },
  ];
  const grown = space('growing', more);
  const frozen = await grown.insertOne({ a: 'x', b: 1 }, { mutate: 'false' });
  refused(t, frozen, 400, 'invalid_value', [/\bb\b/]);
  t.match((await grown.insertOne({ a: 'two', b: 2 })).body, { a: 'two', b: 2 });
  t.match((await grown.find()).body, [
    { a: 'one', b: null },
    { a: 'two', b: 2 },
  ]);
  t.match((await before.find()).body, [{ a: 'one' }, { a: 'two' }]);
  t.notOk('b' in (await before.find()).body[1]);
  const changed = space('growing', [{ name: 'a', type: 'NUMBER' }]);
  refused(t, await changed.find(), 400, 'structure_conflict', [/\ba\b.*TEXT.*NUMBER|\ba\b.*NUMBER.*TEXT/]);
  const stored = await call({
    baseUrl: sluice.baseUrl,
    token: sluice.token,
    path: `/${project}/growing`,
    headers: { 'use-pre-stored-structure': 'true' },
  });
  t.match(stored.body, [{ a: 'one' }, { a: 'two', b: 2 }]);
});

t.test('401, 404, 405 and slugs', async (t) => {
  const structure = structureOf(project, 'people', personFields);
  const path = `/${project}/people`;
  for (const token of ['', 'nonsense-nonsense-nonsense']) {
    refused(t, await call({ baseUrl: sluice.baseUrl, token, path, structure }), 401, 'unauthorized');
  }
  for (const bad of [
    '/_x/people',
    `/${project}/a%0Ab`,
    `/${project}/function`,
    `/${project}/${'x'.repeat(201)}`,
  ]) {
    refused(
      t,
      await call({ baseUrl: sluice.baseUrl, token: sluice.token, path: bad, structure }),
      400,
      'invalid_slug',
    );
  }
  const put = await call({ baseUrl: sluice.baseUrl, token: sluice.token, path, structure, method: 'PUT' });
  refused(t, put, 405, 'method_not_allowed');
  refused(
    t,
    await call({ baseUrl: sluice.baseUrl, token: sluice.token, path: '/a/b/c/d' }),
    404,
    'not_found',
  );
});

t.test('bodies over their limit are 413', async (t) => {
  const people = space('large');
  const record = { fullName: 'x'.repeat(1024 * 1024) };
  refused(t, await people.insertOne(record), 413, 'payload_too_large');
  t.equal((await people.insert([record])).status, 200);
  refused(t, await people.insert(Array.from({ length: 17 }, () => record)), 413, 'payload_too_large');
});
