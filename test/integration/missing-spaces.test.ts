import t from 'tap';
import { Projects } from '#catalogue/projects.ts';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { config: { maxSpaces: 3 } });

const fields = fieldsOf('name TEXT');

function space(project: string, slug: string, owner = 'owner') {
  const structure = structureOf(project, slug, fields);
  const call = (args: Parameters<typeof harness.call>[0]) => harness.call({ ...args, owner });
  return spaceOf({ call }, project, slug, structure);
}

async function count(table: 'record_spaces' | 'projects'): Promise<number> {
  const [row] = await harness.db.rows<{ n: number }>({
    sql: `SELECT toFloat64(count()) AS n FROM sluice.${table}`,
  });
  return row?.n ?? 0;
}

t.test('reads of a space or a project that does not exist make nothing', async (t) => {
  const nobody = space('nowhere', 'nothing');
  t.strictSame((await nobody.find()).body, []);
  t.strictSame((await nobody.find([['name', 'x']])).body, []);
  t.equal((await nobody.findOne()).text, 'null');
  t.strictSame((await nobody.search('x', ['name'])).body, []);
  t.equal((await nobody.getKeys()).text, 'null');
  const owner = await harness.call({
    path: '/nowhere/nothing/get-token-owner',
    structure: structureOf('nowhere', 'nothing', fields),
    headers: { token: 'none' },
  });
  t.equal(owner.status, 401);
  t.equal(await count('record_spaces'), 0);
  t.equal(await count('projects'), 0);
});

t.test('what is wrong with such a read is still said', async (t) => {
  t.equal((await space('nowhere', 'nothing').find([['other', 'x']])).code, 'invalid_condition');
  t.equal((await space('nowhere', 'nothing').find('', '{')).code, 'invalid_options');
});

t.test('a record is found as soon as there is one', async (t) => {
  const fresh = space('p', 'fresh');
  t.strictSame((await fresh.find([['name', 'a']])).body, []);
  const { body } = await fresh.insertOne({ name: 'a' });
  t.strictSame((await fresh.find([['name', 'a']])).body, [body]);
});

t.test('a read makes a space that begins with records', async (t) => {
  const structure = JSON.stringify({
    ...JSON.parse(structureOf('p', 'begun', fields)),
    initialData: [{ name: 'first' }],
  });
  const begun = spaceOf(harness, 'p', 'begun', structure);
  t.match((await begun.find()).body, [{ name: 'first' }]);
});

t.test('an account has so many spaces and no more', async (t) => {
  t.equal((await space('p', 'third').insertOne({ name: 'a' })).status, 200);
  const refused = await space('p', 'fourth').insertOne({ name: 'a' });
  t.strictSame([refused.status, refused.code], [403, 'too_many_spaces']);
  t.equal((await space('p', 'third').insertOne({ name: 'b' })).status, 200);
  t.equal((await space('p', 'fourth', 'another').insertOne({ name: 'a' })).status, 200);
  harness.forget();
  t.equal((await space('p', 'fourth').insertOne({ name: 'a' })).code, 'too_many_spaces');
});

t.test('an account has so many projects and no more', async (t) => {
  const projects = new Projects({ db: harness.db, database: testDatabase, maxProjects: 2 });
  const { signal } = new AbortController();
  const owner = '00000000-0000-4000-8000-000000000001';
  const other = '00000000-0000-4000-8000-000000000002';
  await projects.ensure(owner, 'one', signal);
  await projects.ensure(owner, 'two', signal);
  await t.rejects(projects.ensure(owner, 'three', signal), { status: 403, code: 'too_many_projects' });
  await projects.ensure(owner, 'two', signal);
  await projects.ensure(other, 'three', signal);
});
