import t from 'tap';
import { LocalInvalidation } from '../services/local-invalidation.ts';
import { projectsOf } from '../services/projects-client.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const fields = fieldsOf('email TEXT unique, level NUMBER');

t.test('other processes hear of a drop before it is acknowledged', async (t) => {
  const shared = await queryHarnessFor(t, {
    singleWriter: false,
    freshness: { freshFor: 50, staleAfter: 200 },
  });
  const structure = structureOf('two', 's', fields);
  const other = shared.another();
  const here = spaceOf(shared, 'two', 's', structure);
  const there = spaceOf(other, 'two', 's', structure);
  const { dropSpace, dropField, dropProject } = projectsOf(shared);
  await here.insertOne({ email: 'a@x', level: 1 });
  t.equal((await there.find('email=a@x')).body.length, 1);
  t.equal((await dropSpace('two', 's')).status, 204);
  t.strictSame((await there.find()).body, []);
  t.equal(
    (await there.insertOne({ email: 'a@x', level: 2 })).status,
    200,
    'what is written there is in the new one',
  );
  t.match((await here.find()).body, [{ level: 2 }]);
  t.match((await there.find()).body, [{ level: 2 }]);
  t.equal((await dropField('two', 's', 'level')).status, 204);
  const stored = { path: '/two/s', headers: { 'use-pre-stored-structure': 'true' } };
  t.notOk('level' in (await other.call(stored)).body[0]);
  t.equal((await dropProject('two')).status, 204);
  t.match(await other.call(stored), { status: 404 });
  await there.insertOne({ email: 'a@x' });
  t.match((await projectsOf(other).list()).body.projects, [{ slug: 'two', spaces: 1 }]);
  t.equal((await here.find()).body.length, 1);
});

t.test('a structure that one process changes counts at once in others that would be told', async (t) => {
  const invalidation = new LocalInvalidation();
  const forever = Number.POSITIVE_INFINITY;
  const shared = await queryHarnessFor(t, {
    singleWriter: false,
    invalidation: () => invalidation,
    freshness: { freshFor: forever, staleAfter: forever },
  });
  const other = shared.another();
  const setRequired = (required: boolean) => {
    const asked = [...fields, { name: 'must', type: 'TEXT', required }];
    return spaceOf(shared, 'two', 's', asked).make();
  };
  const insertThere = async () => {
    const headers = { 'use-pre-stored-structure': 'true' };
    return (await other.call({ path: '/two/s/_single_', headers, body: { level: 1 } })).status;
  };
  await setRequired(false);
  t.equal(await insertThere(), 200);
  await shared.call({
    method: 'DELETE',
    path: '/two/s/clear-records',
    structure: structureOf('two', 's', fields),
  });
  t.equal((await setRequired(true)).status, 200);
  t.equal(await insertThere(), 400);
});
