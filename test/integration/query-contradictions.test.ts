/** Requests that say two things at once, and structures that leave something unsaid. */
import t from 'tap';
import { queryHarnessFor } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const structure = structureOf('p', 'said', fieldsOf('a TEXT'));
const preStored = { 'use-pre-stored-structure': 'true' };
const infer = { 'infer-structure': 'true' };

t.test('headers that contradict each other are refused by name, and nothing is stored', async (t) => {
  const path = '/p/said';
  const body = [{ a: 'x' }];
  const cases = [
    { sent: { structure, headers: preStored }, names: ['structure', 'use-pre-stored-structure'] },
    { sent: { structure, headers: infer }, names: ['structure', 'infer-structure'] },
    { sent: { headers: { ...preStored, ...infer } }, names: ['use-pre-stored-structure', 'infer-structure'] },
  ];
  for (const { sent, names } of cases) {
    const answer = await harness.call({ path, body, ...sent });
    t.match(answer, { status: 400, code: 'invalid_header' });
    for (const name of names) t.match(answer.problems.join(), name);
  }
  for (const [operation, given] of [
    ['set-structure', structure],
    ['set-inferred-structure', { a: 'x' }],
  ] as const) {
    const answer = await harness.call({ path: `${path}/${operation}`, body: given, headers: preStored });
    t.match(answer, { status: 400, code: 'invalid_header', problems: [/use-pre-stored-structure/] });
  }
  t.match(await harness.call({ path, headers: preStored }), { status: 404 });
  for (const off of [{ 'use-pre-stored-structure': 'false' }, { 'infer-structure': 'false' }]) {
    t.match(await harness.call({ path, structure, headers: off }), { status: 200 });
  }
});

t.test('of a key that stands in a body twice, the last value counts', async (t) => {
  const path = '/p/said/_single_';
  t.match(await harness.call({ path, structure, body: '{"a":"x","a":"y"}' }), { body: { a: 'y' } });
  const both = structureOf('p', 'both', fieldsOf('a/b TEXT'));
  const answer = await harness.call({ path: '/p/both/_single_', structure: both, body: '{"a":"x","b":"y"}' });
  t.match(answer, { status: 400, code: 'invalid_value', problems: [/given twice, by name and by slug$/] });
});

t.test('a structure without name and description keeps those that are stored', async (t) => {
  const set = (operation: string, body: unknown) => harness.call({ path: `/p/named/${operation}`, body });
  const recordStructure = fieldsOf('a/a TEXT');
  const called = { name: 'My people', description: 'All of them' };
  t.match((await set('set-structure', { recordStructure })).body, { name: 'named', description: '' });
  t.match((await set('set-structure', { ...called, recordStructure })).body, called);
  const more = fieldsOf('b/b NUMBER');
  const { body } = await set('set-structure', { recordStructure: more });
  t.match(body, { ...called, recordStructure: [{ name: 'a' }, { name: 'b' }] });
  t.match((await set('set-inferred-structure', { c: true })).body, called);
  const bare = { projectSlug: 'p', slug: 'named', recordStructure: [{ name: 'd', slug: 'd', type: 'TEXT' }] };
  await harness.call({ path: '/p/named', structure: JSON.stringify(bare), body: [{ d: 'x' }] });
  t.match((await set('set-structure', { recordStructure })).body, called);
});
