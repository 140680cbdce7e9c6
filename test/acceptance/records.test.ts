import t from 'tap';
import { hostileValues } from '../services/hostile-texts.ts';
import { call, personFields, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { PUBLC_URL: 'https://files.example.com' } });

t.test('a variable whose name is nearly one of ours is a warning at the start', async (t) => {
  const lines = `${sluice.stdout()}${sluice.stderr()}`
    .split('\n')
    .filter((line) => line.includes('PUBLC_URL'));
  t.match(lines, [/"level":40,.*did you mean PUBLIC_URL\?/]);
  t.equal(lines.length, 1);
});

const send = (path: string, more: object = {}) => {
  const slug = /^\/records\/(\w+)/.exec(path)?.[1] ?? 'people';
  return call({ ...sluice, path, structure: structureOf('records', slug, personFields), ...more });
};

t.test('records come back as they were stored, by name and by slug', async (t) => {
  const records = [
    { fullName: 'Ada', age: 36, active: true, tags: ['a', { b: 1 }], extra: { z: 1, a: [null] } },
    { 'full-name': 'Grace', age: null },
  ];
  const { status, body } = await send('/records/people', { body: records });
  t.equal(status, 200);
  t.match(body, [records[0], { fullName: 'Grace', age: null, active: null, tags: null, extra: null }]);
  for (const [query, expected] of [
    ['', body],
    ['?full-name=Grace', [body[1]]],
    ['?fullName=Grace', [body[1]]],
    [`?id=${body[0].id}`, [body[0]]],
    ['/_single_?tags=%5B%22a%22%2C%7B%22b%22%3A1%7D%5D', body[0]],
    ['/_single_?extra=%7B%22a%22%3A%5Bnull%5D%2C%22z%22%3A1%7D', body[0]],
    ['/_single_?age=37', null],
  ])
    t.strictSame((await send(`/records/people${query}`)).body, expected, query);
});

t.test('conditions are typed, and hostile text is only text', async (t) => {
  await send('/records/hostile', { body: hostileValues.map((fullName, age) => ({ fullName, age })) });
  for (const [age, name] of hostileValues.entries()) {
    const { body } = await send(`/records/hostile?fullName=${encodeURIComponent(name)}`);
    t.match(body, [{ age }], `name ${age}`);
    t.equal(body.length, 1);
  }
  t.match(await send('/records/hostile?age=1%20OR%201=1'), {
    status: 400,
    body: { code: 'invalid_condition' },
  });
  t.equal((await send('/records/hostile?age=+1')).status, 400, 'a plus sign in a query is a space');
  t.equal((await send('/records/hostile?age=%2B1')).body.length, 1);
});

t.test('401, 404, 405 and slugs', async (t) => {
  for (const [path, status, code, more] of [
    ['/records/people', 401, 'unauthorized', { token: '' }],
    ['/records/people', 401, 'unauthorized', { token: 'nonsense-nonsense-nonsense' }],
    ['/_x/people', 400, 'invalid_slug'],
    ['/records/a%0Ab', 400, 'invalid_slug'],
    ['/records/function', 400, 'invalid_slug'],
    [`/records/${'x'.repeat(201)}`, 400, 'invalid_slug'],
    ['/records/people', 405, 'method_not_allowed', { method: 'PUT' }],
    ['/records/people/set-structure', 405, 'method_not_allowed'],
    ['/records/people/clear-records', 405, 'method_not_allowed'],
    ['/records/function/login', 405, 'method_not_allowed'],
    ['/a/b/c/d', 404, 'not_found'],
  ] as const) {
    const body = { statusCode: status, code, error: Array, path: String, requestId: String };
    t.match(await send(path, more), { status, body }, `${path.slice(0, 50)} ${code}`);
  }
});
