/** Lists of projects and record spaces, and what is dropped: gone for good, with what was pending, kept or reserved of it. */
import t from 'tap';
import { fileRow, tableRows } from '#gateway/catalogue/file-row.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { sweepLeft } from '#query/space/removals.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { newFile } from '../services/new-file.ts';
import { plainStore } from '../services/plain-store.ts';
import { projectsOf } from '../services/projects-client.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { sized } from '../services/test-size.ts';

const { signal } = new AbortController();
const harness = await queryHarnessFor(t);

const fields = fieldsOf('email TEXT unique, level NUMBER, secret TEXT hashed');

/** Rows of a space's records table, under whatever id. */
async function rowsOf(project: string, space: string, generation = 0): Promise<number> {
  const id = uuidV5('owner', project, space);
  const recordsId = generation === 0 ? id : uuidV5(id, String(generation));
  return (await harness.db.rows({ sql: `SELECT 1 FROM sluice.records WHERE space = '${recordsId}'` })).length;
}

t.test('projects and spaces are listed page by page, with what they hold', async (t) => {
  const owner = 'lists';
  const { list, spaces, space } = projectsOf(harness, owner);
  t.strictSame((await list()).body, { projects: [], next: null });
  t.match(await spaces('p0'), { status: 404, code: 'project_not_found' });
  for (const project of ['p1', 'p0', 'P2']) {
    for (const slug of ['b', 'a', 'é'].slice(project === 'p1' ? 0 : 2)) {
      const structure = structureOf(project, slug, fields, { name: `Space ${slug}` });
      const body = Array.from({ length: slug === 'a' ? 3 : 1 }, (_, i) => ({ email: `${i}@x`, level: i }));
      await harness.call({ path: `/${project}/${slug}`, structure, body, owner });
    }
  }
  const slugs = async (
    read: (query: string) => Promise<QueryAnswer>,
    key: string,
    limit: number,
    more = '',
  ) => {
    const seen: string[] = [];
    for (let next: string | null | undefined; next !== null; ) {
      const after = next === undefined ? '' : `&after=${encodeURIComponent(next)}`;
      const { body } = await read(`limit=${limit}${after}${more}`);
      seen.push(...body[key].map(({ slug }: { slug: string }) => slug));
      next = body.next as string | null;
    }
    return seen;
  };
  for (const limit of [1, 2, 3, 200]) {
    t.strictSame(await slugs(list, 'projects', limit), ['P2', 'p0', 'p1'], `${limit}`);
    t.strictSame(await slugs((query) => spaces('p1', query), 'spaces', limit), ['a', 'b', 'é'], `${limit}`);
  }
  t.strictSame(await slugs((query) => spaces('p1', query), 'spaces', 1, '&search=SPACE%20A'), ['a']);
  t.strictSame(
    await slugs((query) => spaces('p1', query), 'spaces', 1, `&search=${encodeURIComponent('É')}`),
    ['é'],
  );
  t.match((await list()).body.projects, [{ spaces: 1 }, { spaces: 1 }, { spaces: 3 }]);

  const { body } = await spaces('p1', 'limit=1');
  t.match(body.spaces, [
    {
      slug: 'a',
      name: 'Space a',
      records: 3,
      fields: [{ slug: 'email', unique: true }, { type: 'NUMBER' }, { hashed: true }],
    },
  ]);
  t.ok(body.spaces[0].bytes > 0);
  const one = await space('p1', 'a');
  const { structure, ...listed } = one.body;
  t.strictSame({ ...listed, bytes: 0 }, { ...body.spaces[0], bytes: 0 });
  const again = await harness.call({ path: '/p1/a', structure: JSON.stringify(structure), owner });
  t.equal(again.body.length, 3, 'the structure is one that a header takes');

  for (const query of ['limit=0', 'limit=201', 'after=-', 'limit=1&limit=1', 'x=1']) {
    t.match(await list(query), { status: 400, code: 'invalid_condition' }, query);
  }
  for (const query of ['search=', 'after=', `search=${'x'.repeat(201)}`]) {
    t.match(await spaces('p1', query), { status: 400 }, query);
  }
  const other = projectsOf(harness, 'somebody else');
  t.strictSame((await other.list()).body, { projects: [], next: null });
  t.match(await other.spaces('p1'), { status: 404 });
  t.match(await other.space('p1', 'a'), { status: 404 });
  for (const answer of [
    other.dropSpace('p1', 'a'),
    other.dropField('p1', 'a', 'email'),
    other.dropProject('p1'),
  ]) {
    t.match(await answer, { status: 404 });
  }
  t.match(await space('p1', 'a'), { status: 200 });
  t.match(await space('p1', 'nothing'), { status: 404, code: 'record_space_not_found' });
});

t.test('a space without a name is listed under its slug, and not under null', async (t) => {
  const owner = 'unnamed';
  const { spaces, space } = projectsOf(harness, owner);
  await harness.call({ path: '/p/s/set-structure', body: { recordStructure: [] }, owner });
  t.match((await space('p', 's')).body, { name: 's', description: '' });
  t.match((await spaces('p')).body.spaces, [{ name: 's', description: '' }]);
});

t.test('a dropped space is gone, and one of the same slug begins empty', async (t) => {
  const { dropSpace, space, spaces } = projectsOf(harness);
  const structure = structureOf('drop', 's', fields, { initialData: [{ email: 'first@x', level: 0 }] });
  const people = spaceOf(harness, 'drop', 's', structure);
  let ids: string[] = [];
  for (let generation = 0; generation < 3; generation++) {
    t.equal(
      (
        await people.insert([
          { email: 'a@x', level: 1 },
          { email: 'b@x', level: 2 },
        ])
      ).status,
      200,
      'values are free',
    );
    const found = (await people.find('', { sort: { by: 'email' } })).body;
    t.strictSame(
      found.map(({ email }: { email: string }) => email),
      ['a@x', 'b@x', 'first@x'],
      'it begins as its structure says',
    );
    for (const id of ids) t.equal((await people.findOne(`id=${id}`)).body, null);
    ids = found.map(({ id }: { id: string }) => id);
    // known by what is kept of it
    t.equal((await people.find('email=a@x')).body.length, 1);
    t.equal((await people.findOne(`id=${ids[0]}`)).body.email, 'a@x');
    t.equal((await people.updateOneById(ids[0] as string, { level: 5 })).status, 200);
    t.equal((await dropSpace('drop', 's')).status, 204);
    t.match(await dropSpace('drop', 's'), { status: 404, code: 'record_space_not_found' });
    t.match(await space('drop', 's'), { status: 404 });
    t.strictSame((await spaces('drop')).body.spaces, []);
    t.equal(await rowsOf('drop', 's', generation), 0, 'its rows are deleted');
    if (generation === 1) await harness.restart();
    const stored = await harness.call({ path: '/drop/s', headers: { 'use-pre-stored-structure': 'true' } });
    t.match(stored, { status: 404 });
  }
  const bare = spaceOf(harness, 'drop', 's', fieldsOf('other TEXT'));
  t.strictSame((await bare.find()).body, []);
  await bare.insertOne({ other: 'x' });
  t.match((await bare.find()).body, [{ other: 'x' }]);
  t.equal((await bare.find(`id=${ids[0]}`)).body.length, 0);
});

t.test('writes while a space is dropped and made again never bring an old record back', async (t) => {
  const { dropSpace } = projectsOf(harness);
  const structure = structureOf('busy', 's', fields);
  const people = spaceOf(harness, 'busy', 's', structure);
  let stop = false;
  let written = 0;
  const writer = async (own: number): Promise<void> => {
    for (let i = 0; !stop; i++) {
      const { status } = await people.insertOne({ email: `${own}-${i}@x`, level: i });
      t.ok(status === 200 || status === 503, `${status}`);
      written++;
    }
  };
  await people.make();
  const writers = [0, 1, 2, 3].map(writer);
  for (let round = 0; round < sized(8, 3); round++) {
    while (written < (round + 1) * 10) await new Promise((resolve) => setTimeout(resolve, 2));
    const { body: old } = await people.find();
    t.ok([204, 404].includes((await dropSpace('busy', 's')).status));
    const after = new Set(((await people.find()).body as { id: string }[]).map(({ id }) => id));
    t.notOk((old as { id: string }[]).some(({ id }) => after.has(id)));
  }
  stop = true;
  await Promise.all(writers);
  t.equal((await dropSpace('busy', 's')).status, 204);
  await people.insertOne({ email: 'last@x', level: 1 });
  await harness.restart();
  t.match((await people.find()).body, [{ email: 'last@x' }]);
});

t.test('a drop cut by a kill after its first step is whole, and the next start deletes all', async (t) => {
  const structure = structureOf('cut', 's', fields);
  const people = spaceOf(harness, 'cut', 's', structure);
  await people.insert([
    { email: 'a@x', level: 1 },
    { email: 'b@x', level: 2 },
  ]);
  await harness.restart();
  const catalogue = new TableCatalogue({ db: harness.db, database: testDatabase });
  const entry = await catalogue.find(uuidV5('owner', 'cut', 's'), signal);
  t.ok(await catalogue.drop(entry as NonNullable<typeof entry>, signal));
  t.ok(await catalogue.drop(entry as NonNullable<typeof entry>, signal), 'two at once drop one space');
  harness.forget();
  t.strictSame((await people.find()).body, []);
  t.match(await projectsOf(harness).space('cut', 's'), { status: 404 });
  t.equal(await rowsOf('cut', 's'), 2, 'they are there, and nobody finds them');
  const log = silentLog();
  const store = plainStore(harness.db);
  const args = { store, catalogue, log };
  const own = { ...args, store: Object.assign(plainStore(harness.db), { singleWriter: true }) };
  await sweepLeft(args, signal);
  t.equal(await rowsOf('cut', 's'), 2, 'other processes may write by what they know');
  await sweepLeft(own, signal);
  t.equal(await rowsOf('cut', 's'), 0);
  t.strictSame(await catalogue.leftBehind(new Date(), 10, signal), []);
  t.strictSame(log.failures, []);
  await people.insertOne({ email: 'a@x', level: 3 });
  await sweepLeft(own, signal);
  t.match((await people.find()).body, [{ email: 'a@x', level: 3 }]);
  t.notOk(
    await catalogue.drop(entry as NonNullable<typeof entry>, signal),
    'an old drop does not meet the new space',
  );
});

t.test('a dropped field is gone with its values', async (t) => {
  const { dropField, space } = projectsOf(harness);
  const structure = structureOf('field', 's', fields);
  const people = spaceOf(harness, 'field', 's', structure);
  const { body } = await people.insert([
    { email: 'a@x', level: 1, secret: 'x' },
    { email: 'b@x', level: 2, secret: 'y' },
  ]);
  await people.find('email=a@x');
  t.match(await dropField('field', 's', 'nothing'), { status: 404, code: 'not_found' });
  t.match(await dropField('field', 'nowhere', 'email'), { status: 404, code: 'not_found' });
  for (const field of ['email', 'secret']) {
    t.equal((await dropField('field', 's', field)).status, 204);
    t.match(await dropField('field', 's', field), { status: 404 });
  }
  t.match((await space('field', 's')).body.fields, [{ slug: 'level' }]);
  const stored = { 'use-pre-stored-structure': 'true' };
  const read = async (query = '') => (await harness.call({ path: '/field/s', query, headers: stored })).body;
  for (const record of await read()) t.strictSame(Object.keys(record).includes('email'), false);
  t.equal((await read('level=1')).length, 1);
  const id = uuidV5('owner', 'field', 's');
  // which nobody waits for
  const sql = `SELECT 1 FROM sluice.records WHERE space = '${id}' AND (mapKeys(_doc) != ['n0'] OR length(_hashes) > 0)`;
  while ((await harness.db.rows({ sql })).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));

  // who still declares the field makes another one
  t.match(await people.find('email=a@x'), { status: 200, body: [] });
  t.strictSame(
    (await people.find('', { sort: { by: 'level' } })).body.map(
      ({ email }: { email: unknown }) => email ?? null,
    ),
    [null, null],
  );
  t.equal((await people.updateOneById(body[0].id, { email: 'b@x' })).status, 200, 'its old value is free');
  t.match(await people.insertOne({ email: 'b@x', level: 1 }), { status: 400, code: 'not_unique' });
  await harness.restart();
  t.match((await people.find('email=b@x')).body, [{ id: body[0].id, level: 1 }]);
});

t.test('a project goes with its spaces, and stays while it has files', async (t) => {
  const { list, dropProject, dropSpace, spaces } = projectsOf(harness, 'owner-of-files');
  const call = { owner: 'owner-of-files' };
  const make = (slug: string) =>
    harness.call({
      ...call,
      path: `/files/${slug}`,
      structure: structureOf('files', slug, fields),
      body: [{ level: 1 }],
    });
  await make('a');
  await make('b');
  const file = newFile({ ownerId: 'owner-of-files', projectSlug: 'files' });
  const table = 'sluice.cloud_files';
  await harness.db.insert({ table, ...tableRows([fileRow(file)]).files, home: 'cloud_files' });
  t.match(await dropProject('files'), { status: 409, code: 'project_has_files' });
  t.equal((await spaces('files')).body.spaces.length, 2);
  await harness.db.command({ sql: `DELETE FROM sluice.cloud_files WHERE name = '${file.name}'` });
  t.equal((await dropProject('files')).status, 204);
  t.match(await dropProject('files'), { status: 404, code: 'project_not_found' });
  t.strictSame((await list()).body.projects, []);
  t.match(await spaces('files'), { status: 404 });
  const without = { 'auto-create-project': 'false' };
  const read = { ...call, path: '/files/a', structure: structureOf('files', 'a', fields) };
  t.match(await harness.call({ ...read, headers: without }), { status: 404, code: 'project_not_found' });
  await make('b');
  t.match((await list()).body.projects, [{ slug: 'files', spaces: 1 }]);
  t.match(
    (await harness.call({ ...read, path: '/files/b', structure: structureOf('files', 'b', fields) })).body,
    [{ level: 1 }],
  );
  t.equal((await dropSpace('files', 'b')).status, 204);
});
