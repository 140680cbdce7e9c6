/** Structures over HTTP: set, inferred, evolving, and the records that a space begins with. */
import t, { type Test } from 'tap';
import { type Answer, call, type FieldInput, structureOf } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

let sluice = await startSluice();
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
});

const project = 'structures';
const send = (
  path: string,
  more: { structure?: string; body?: unknown; headers?: Record<string, string> } = {},
) => call({ baseUrl: sluice.baseUrl, token: sluice.token, path: `/${project}/${path}`, ...more });
const stored = (slug: string) => send(slug, { headers: { 'use-pre-stored-structure': 'true' } });
const space = (slug: string, fields: FieldInput[], more: object = {}) => {
  const structure = structureOf(project, slug, fields, more);
  return {
    structure,
    find: () => send(slug, { structure }),
    insert: (body: unknown) => send(slug, { structure, body }),
  };
};
const conflict = (t: Test, { status, body }: Answer, ...problems: RegExp[]): void => {
  t.equal(status, 400);
  t.equal(body.code, 'structure_conflict');
  for (const problem of problems) t.match(body.error.join('\n'), problem);
};

t.test('set-structure', async (t) => {
  const { structure } = space('set', [
    { name: 'firstName', slug: 'first-name', type: 'TEXT', required: true },
  ]);
  const answer = await send('set/set-structure', { body: structure });
  t.equal(answer.status, 200);
  const sent = JSON.parse(structure);
  t.strictSame(answer.body, { ...sent, recordFieldStructures: sent.recordStructure });
  t.strictSame((await stored('set')).body, []);
  const insert = await send('set', {
    headers: { 'use-pre-stored-structure': 'true' },
    body: [{ firstName: 'Ada' }],
  });
  t.match(insert.body, [{ firstName: 'Ada' }]);
  t.match((await send('set/set-structure', { body: '{"slug":"other","recordStructure":7}' })).body, {
    code: 'invalid_structure',
    error: [/recordStructure/, /other/],
  });
  t.match(await send('set/set-structure'), { status: 405 });
});

t.test('inferred structures', async (t) => {
  const sample = { firstName: 'Ada', age: 36, active: true, tags: [], home: {} };
  const got = await send('inferred/get-inferred-structure', { body: sample });
  t.strictSame(
    got.body.recordStructure.map(({ name, slug, type }: FieldInput) => [name, slug, type]),
    [
      ['firstName', 'first-name', 'TEXT'],
      ['age', 'age', 'NUMBER'],
      ['active', 'active', 'BOOLEAN'],
      ['tags', 'tags', 'ARRAY'],
      ['home', 'home', 'OBJECT'],
    ],
  );
  t.equal((await stored('inferred')).status, 404, 'nothing was made');
  t.strictSame((await send('inferred/set-inferred-structure', { body: sample })).body, got.body);
  t.strictSame((await stored('inferred')).body, []);
  const bad = await send('inferred/set-inferred-structure', { body: { a: null, 'b\nc': 1 } });
  t.match(bad, { status: 400, body: { error: [/'a' is null/, /control characters/, /control characters/] } });
});

t.test('required and unique are switched on when nothing is in the way', async (t) => {
  const loose = space('flags', [
    { name: 'a', type: 'TEXT' },
    { name: 'b', type: 'TEXT' },
  ]);
  await loose.insert([{ a: 'x' }, { a: 'x', b: 'y' }]);
  const unique = space('flags', [{ name: 'a', type: 'TEXT', unique: true }]);
  const required = space('flags', [{ name: 'b', type: 'TEXT', required: true }]);
  conflict(
    t,
    await unique.insert([{ a: 'z' }]),
    /'a' can not become unique: 2 stored records have the value 'x'/,
  );
  conflict(t, await required.find(), /'b' can not become required: 1 stored record has no value/);
  conflict(
    t,
    await send('flags/set-structure', {
      body: { recordStructure: JSON.parse(unique.structure).recordStructure },
    }),
    /'a'/,
  );
  t.equal((await loose.find()).body.length, 2, 'nothing changed');
  const fine = space('flags', [{ name: 'a', type: 'TEXT', required: true }]);
  t.equal((await fine.find()).status, 200);
  t.match(await fine.insert([{ a: null }]), { status: 400, body: { code: 'invalid_value' } });
  t.equal((await loose.insert([{ b: 'only' }])).status, 200, 'switched off again');
  conflict(t, await fine.find(), /'a'/);
});

t.test('a space begins with its initialData, once', async (t) => {
  const fields: FieldInput[] = [
    { name: 'code', type: 'TEXT', unique: true },
    { name: 'pin', type: 'TEXT', hashed: true },
  ];
  const initialData = [{ code: 'a', pin: '1234' }, { code: 'b' }];
  const made = space('initial', fields, { initialData });
  const answers = await Promise.all(Array.from({ length: 20 }, () => made.find()));
  for (const { body } of answers) {
    t.match(body, [{ code: 'a' }, { code: 'b' }]);
    t.strictSame(body, answers[0]?.body);
  }
  t.notMatch(JSON.stringify(answers[0]?.body), /pin|argon2/);
  const bad = await space('bad', fields, { initialData: [{ code: 1 }, { code: 'x', no: 1 }] }).find();
  t.match(bad, {
    status: 400,
    body: { code: 'invalid_structure', error: [/'code'.*index 0/, /'no'.*index 1/] },
  });
  t.equal((await stored('bad')).status, 404, 'and is not made when they are bad');
  await sluice.kill();
  sluice = await sluice.restart();
  t.match(sluice.stdout(), /^Dashboard: +http\S+\/_console_\/$/m, 'every start says where the dashboard is');
  t.strictSame((await made.find()).body, answers[0]?.body);
});

t.test('clear in a structure', async (t) => {
  const fields: FieldInput[] = [{ name: 'a', type: 'TEXT' }];
  t.match(await space('clear', fields, { clear: true }).find(), {
    status: 400,
    body: { code: 'clear_not_allowed' },
  });
});
