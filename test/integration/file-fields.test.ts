/** Fields with files: what requests may say, what every answer has, and which files go when. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { UsedFiles } from '#gateway/access/used-files.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { FileSweep } from '#query/file-fields/file-sweep.ts';
import { OpenUses } from '#query/file-fields/open-uses.ts';
import { noPlans } from '../services/direct-uploads.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { newFile } from '../services/new-file.ts';
import { noTrash } from '../services/no-trash.ts';
import { openQueryHarness, refusal, spaceOf, testDatabase } from '../services/query-harness.ts';
import { silentLog } from '../services/silent-log.ts';

// no other process has to hear of a space that is changed
const harness = await openQueryHarness({ freshness: { heardAfter: 0 } });
t.teardown(() => harness.close());
const { db } = harness;
const { signal } = new AbortController();
const cloudFiles = createCloudFiles({ db, database: testDatabase, singleWriter: true });
const uses = new FileUses({ db, database: testDatabase });
const marks = new FileMarks({ db, database: testDatabase });
const objects = new Set<string>();
const gateway = new UsedFiles({
  uses,
  marks,
  cloudFiles,
  store: {
    async deleteAll(keys) {
      for (const key of keys) objects.delete(key);
      return [];
    },
  },
  quota: noQuota,
  plans: noPlans,
  trash: noTrash,
  log: silentLog(),
});
t.teardown(() => gateway.close());

async function upload(change: Partial<CloudFile> = {}): Promise<string> {
  const file = newFile({
    ownerId: 'owner',
    projectSlug: 'demo',
    contentType: 'image/png',
    size: 123,
    ...change,
  });
  await cloudFiles.insert(file, signal);
  objects.add(file.objectKey);
  return file.name;
}

/** Asserts that files are deleted: by the sweep, and then by the gateway. */
async function goes(t: Test, names: readonly string[], message = 'files'): Promise<void> {
  await harness.sweep();
  t.strictSame(
    await there(...names),
    names.map(() => false),
    message,
  );
}

/** Asserts that files are there once the sweep has done what it could. */
async function stays(t: Test, names: readonly string[], message = 'files'): Promise<void> {
  await harness.sweep();
  t.strictSame(
    await there(...names),
    names.map(() => true),
    message,
  );
}

/** Files that are still there. */
async function there(...names: readonly string[]): Promise<readonly boolean[]> {
  gateway.deleteCondemned();
  await gateway.idle();
  const found = await cloudFiles.namesWithRow(names, signal);
  return names.map((name) => found.has(name));
}

/** What answers have of a file. */
function shown(name: string) {
  return { name, s3Link: `http://files.test/_f_/demo/${name}`, contentType: 'image/png', size: 123 };
}

const fields = [
  { name: 'title', type: 'TEXT' },
  { name: 'photo', type: 'FILE' },
  { name: 'album', type: 'FILE', many: true },
];

t.test('every answer has the facts of files', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'posts', fields);
  const [a, b, c] = [await upload(), await upload(), await upload()];
  const one = await space.insertOne({ title: 'x', photo: a, album: [b, c] });
  t.match(one, { status: 200, body: { photo: shown(a), album: [shown(b), shown(c)] } });
  // what was answered is taken again
  const { photo, album } = one.body;
  const two = await space.insertOne({ title: 'y', photo, album });
  t.match(two.body, { photo, album });
  const none = await space.insertOne({ title: 'z', photo: '', album: [] });
  t.match(none.body, { photo: null, album: [] });
  const all = [one.body, two.body, none.body];
  t.strictSame((await space.find()).body, all);
  t.strictSame((await space.findOne('title=x')).body, one.body);
  t.strictSame((await space.find('$select=photo&title=y')).body, [{ id: two.body.id, photo }]);
  const changed = await space.updateOneById(none.body.id, { album: [{ name: a, anything: 1 }] });
  t.match(changed.body, { photo: null, album: [shown(a)] });
  t.strictSame((await space.find(`id=${none.body.id}`)).body, [changed.body]);
  harness.forget();
  t.strictSame((await space.find()).body, [one.body, two.body, changed.body], 'from the engine');
  t.match((await space.search('x', ['title'])).body, [one.body]);
  const csv = await harness.call({ path: `${space.path}/_export_.csv`, structure: space.structure });
  t.ok(csv.text.includes(`"${a}","[""${b}"",""${c}""]"`));
  t.strictSame((await space.clear()).body, { deleted: 3 });
});

t.test('more than 200 records at once', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'crowd', fields);
  const [a, b] = [await upload(), await upload()];
  const records = Array.from({ length: 300 }, (_, at) => ({ title: `${at}`, photo: a, album: [a, b] }));
  const stored = await space.insert(records);
  t.equal(stored.status, 200);
  t.match(stored.body[299], { photo: shown(a), album: [shown(a), shown(b)] });
  t.strictSame((await space.find()).body, stored.body);
  t.strictSame(
    (await harness.call({ path: `${space.path}/_delete_`, structure: space.structure, body: { all: true } }))
      .body,
    { deleted: 300 },
  );
  await goes(t, [a, b]);
});

t.test('values compare by name', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'compared', [
    { name: 'photo', type: 'FILE', unique: true },
    { name: 'album', type: 'FILE', many: true },
  ]);
  const [a, b, c] = [await upload(), await upload(), await upload()];
  const [one, two] = (await space.insert([{ photo: a, album: [b, c] }, { photo: b }])).body;
  for (const [query, found] of [
    [`photo=${a}`, [one]],
    [`photo[ne]=${a}`, [two]],
    [`photo[in]=${a}&photo[in]=${b}`, [one, two]],
    [`photo[exists]=true`, [one, two]],
    [`album[has]=${c}`, [one]],
    [`album[size]=2`, [one]],
    [`album=${encodeURIComponent(JSON.stringify([b, c]))}`, [one]],
    [`photo=${c}`, []],
  ] as const) {
    const { status, body } = await space.find(query);
    t.strictSame([query, status, body], [query, 200, found]);
  }
  t.match(await space.insertOne({ photo: a }), refusal('not_unique'));
  t.match(await space.updateOneById(two.id, { photo: a }), refusal('not_unique'));
  const groups = await space.aggregate({ groupBy: ['photo'], values: { n: 'count' } });
  t.strictSame(groups.body.map(({ photo }: { photo: unknown }) => photo).sort(), [a, b].sort());
  t.match(await space.find('', { sort: { by: 'photo', order: 'asc' } }), {
    status: 400,
    problems: [/photo.*is a FILE and has no order/],
  });
  t.match(await space.find(`photo[contains]=a`), { status: 400, problems: [/no operator/] });
});

t.test('what is no file of the project is refused, whatever the reason', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'refused', fields);
  const missing = `${randomUUID()}_a.txt`;
  const otherProject = await upload({ projectSlug: 'other' });
  const otherAccount = await upload({ ownerId: 'somebody' });
  const noFile = "Value for Body field: 'photo' should be a valid file: the project has no such file";
  for (const name of [missing, otherProject, otherAccount]) {
    t.match(await space.insertOne({ photo: name }), refusal('invalid_value', noFile));
    t.match(
      await space.insert([{ title: 'x' }, { photo: name }]),
      refusal('invalid_value', `${noFile} (record at index 1)`),
    );
    t.match(
      await space.insertOne({ album: [name] }),
      refusal('invalid_value', noFile.replace('photo', 'album')),
    );
  }
  const { body: kept } = await space.insertOne({ title: 'kept' });
  for (const name of [missing, otherProject, otherAccount]) {
    t.match(await space.updateOneById(kept.id, { photo: name }), refusal('invalid_value', noFile));
    t.strictSame((await space.find(`photo=${name}`)).body, [], 'a condition tells nothing');
  }
  const written = 'should be the name of an uploaded file';
  for (const value of [
    1,
    true,
    'a',
    '../x',
    {},
    { name: 1 },
    [],
    ['x'],
    { name: `${missing}/..` },
    `${missing}\u0001`,
  ])
    t.match(await space.insertOne({ photo: value }), refusal('invalid_value', new RegExp(written)));
  for (const value of ['a', {}, [1], [missing, missing], Array.from({ length: 101 }, () => missing)])
    t.match(
      await space.insertOne({ album: value }),
      refusal('invalid_value', /should be a valid list of files/),
    );
  t.strictSame((await space.find()).body, [kept], 'nothing was stored');
});

t.test('what a FILE can not be', async (t: Test) => {
  for (const [field, problem] of [
    [{ type: 'TEXT', many: true }, /has many, which is for FILE/],
    [{ type: 'FILE', many: 'yes' }, /has a many that is not true or false/],
    [{ type: 'FILE', hashed: true }, /is hashed, which a FILE can not be/],
    [
      { type: 'FILE', defaultValue: `${randomUUID()}_a.txt` },
      /has a defaultValue, which a FILE can not have/,
    ],
    [{ type: 'FILES' }, /has an unknown type/],
    [{ type: 'FILE', normalize: ['trim'] }, /has a normalize, which is for TEXT/],
  ] as const)
    t.match(await spaceOf(harness, 'demo', `never-${randomUUID()}`, [{ name: 'f', ...field }]).make(), {
      status: 400,
      problems: [problem],
    });
  const name = await upload();
  const initial = spaceOf(harness, 'demo', 'initial', fields, { initialData: [{ photo: name }] });
  t.match(await initial.insertOne({ title: 'x' }), {
    status: 400,
    problems: [/a FILE has no initial values/],
  });
  const space = spaceOf(harness, 'demo', 'typed', fields);
  await space.insertOne({ photo: name, album: [name], title: name });
  for (const [field, type] of [
    ['photo', 'TEXT'],
    ['title', 'FILE'],
    ['album', 'ARRAY'],
  ] as const) {
    const other = spaceOf(
      harness,
      'demo',
      'typed',
      fields.map((one) => (one.name === field ? { name: field, type } : one)),
    );
    t.match(await other.make(), { status: 400, code: 'structure_conflict' }, `${field} ${type}`);
  }
  const stored = await harness.call({ path: '/_projects_/demo/spaces/typed' });
  t.match(JSON.stringify(stored.body), '"type":"FILE","many":true');
});

t.test('a file goes with the last record that names it', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'last', fields);
  const other = spaceOf(harness, 'demo', 'last-too', fields);
  const [a, b] = [await upload(), await upload()];
  const [one, two] = (await space.insert([{ photo: a }, { album: [b, a] }])).body;
  const three = (await other.insertOne({ photo: a })).body;
  await space.deleteOneById(one.id);
  await space.updateOneById(two.id, { album: [b] });
  await stays(t, [a, b]);
  await other.updateOneById(three.id, { title: 'another value' });
  await stays(t, [a, b]);
  await other.updateOneById(three.id, { photo: null });
  await goes(t, [a]);
  await stays(t, [b]);
  await space.updateOneById(two.id, { album: [b] });
  await stays(t, [b]);
  await space.updateOneById(two.id, { photo: b, album: null });
  await stays(t, [b]);
  await space.deleteOneById(two.id);
  await goes(t, [b]);
  t.match(await space.insertOne({ photo: b }), refusal('invalid_value', /no such file/));
});

t.test('every way in which records end', async (t: Test) => {
  const ways: Readonly<Record<string, (space: ReturnType<typeof spaceOf>, id: string) => Promise<unknown>>> =
    {
      deleteOneById: (space, id) => space.deleteOneById(id),
      updateOne: (space, id) => space.updateOne([['id', id]], { photo: null }),
      updateMany: (space) =>
        harness.call({
          path: `${space.path}/_update_`,
          structure: space.structure,
          body: { all: true, set: { photo: null } },
        }),
      deleteMany: (space) =>
        harness.call({
          path: `${space.path}/_delete_`,
          structure: space.structure,
          body: { where: { photo: { exists: true } } },
        }),
      clear: (space) => space.clear(),
      'an upsert': (space) =>
        harness.call({
          path: space.path,
          structure: space.structure,
          headers: { options: JSON.stringify({ onConflict: { field: 'title', do: 'update' } }) },
          body: [{ title: 'x', photo: null }],
        }),
      'dropping the field': () =>
        harness.call({ method: 'DELETE', path: '/_projects_/demo/spaces/ways/fields/photo' }),
      'dropping the space': () => harness.call({ method: 'DELETE', path: '/_projects_/demo/spaces/ways' }),
    };
  for (const [name, end] of Object.entries(ways)) {
    const space = spaceOf(harness, 'demo', 'ways', [
      { name: 'title', type: 'TEXT', unique: true },
      { name: 'photo', type: 'FILE' },
    ]);
    const [file, kept] = [await upload(), await upload()];
    const made = await space.insertOne({ title: 'x', photo: file });
    t.match(made, { status: 200 }, name);
    await end(space, made.body.id);
    await goes(t, [file], name);
    await stays(t, [kept], 'a file that no record ever named');
    await harness.call({ method: 'DELETE', path: '/_projects_/demo/spaces/ways' });
  }
});

t.test('a write that fails drops nothing', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'failing', [
    { name: 'title', type: 'TEXT', unique: true, required: true },
    { name: 'photo', type: 'FILE' },
  ]);
  const [a, b] = [await upload(), await upload()];
  const { body: one } = await space.insertOne({ title: 'x', photo: a });
  t.match(await space.insertOne({ title: 'x', photo: b }), refusal('not_unique'));
  t.match(await space.updateOneById(one.id, { title: null, photo: b }), refusal('invalid_value'));
  t.match(await space.deleteOneById(randomUUID()), { body: null });
  t.match(await space.updateOneById(randomUUID(), { photo: b }), { body: null });
  await stays(t, [a, b]);
  await space.clear();
  await goes(t, [a]);
  await stays(t, [b], 'it never was a value');
});

t.test('the gateway deletes no file that a record names', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'held', fields);
  const [a, b] = [await upload(), await upload()];
  const place = { ownerId: 'owner', slug: 'demo' };
  const { body } = await space.insertOne({ photo: a });
  const held = await gateway.hold(place, [a, b], signal);
  t.strictSame([...held.inUse], [a]);
  const again = space.insertOne({ photo: b });
  // the write waits for what becomes of the file
  await held.release([b]);
  t.match(await again, { status: 200 });
  t.strictSame([...(await gateway.hold(place, [b], signal)).inUse], [b]);
  t.match(await space.insertOne({ photo: a }), { status: 200 }, 'a refusal leaves no mark');
  await space.deleteOneById(body.id);
  await stays(t, [a, b]);
});

t.test('a file that was deleted, and one that a backup brought back', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'back', fields);
  const file = newFile({ ownerId: 'owner', projectSlug: 'demo' });
  await cloudFiles.insert(file, signal);
  const { name } = file;
  const held = await gateway.hold({ ownerId: 'owner', slug: 'demo' }, [name], signal);
  const beside = space.insertOne({ photo: name });
  await cloudFiles.remove(name, signal);
  held.deleted([name]);
  t.match(await beside, refusal('invalid_value', /can not be named|no such file/));
  await gateway.idle();
  await cloudFiles.insert(file, signal);
  t.match(await space.insertOne({ photo: name }), { status: 200 });
  await stays(t, [name]);
  t.strictSame([...(await gateway.hold({ ownerId: 'owner', slug: 'demo' }, [name], signal)).inUse], [name]);
});

t.test('a use that is noted while a sweep decides stays', async (t: Test) => {
  const place = { ownerId: 'owner', slug: 'demo' };
  const [name, space] = [`${randomUUID()}_a.txt`, randomUUID()];
  const open = new OpenUses();
  const late = { space, record: 'late', name, owns: false };
  /** Notes a use between the last read of the sweep and its verdict. */
  class Interrupted extends FileUses {
    #reads = 0;
    override async ofNames(...args: Parameters<FileUses['ofNames']>) {
      const found = await super.ofNames(...args);
      if (++this.#reads === 2) {
        open.open([late]);
        await uses.add(place, [late], signal);
      }
      return found;
    }
  }
  const sweep = new FileSweep({
    uses: new Interrupted({ db, database: testDatabase }),
    marks,
    store: { lookUp: async () => [], singleWriter: true },
    spaces: { find: async () => null },
    ...{ open, deleteCondemned() {}, log: silentLog() },
  });
  await uses.add(place, [{ ...late, record: 'early' }], signal);
  sweep.settled(await uses.drop(place, [{ space, record: 'early' }], signal));
  await sweep.idle();
  t.match(await uses.ofSpace(place, space, { record: '', name: '' }, signal), [{ record: 'late' }]);
  t.strictSame(await marks.marked([name], signal), [], 'the write goes on');
});

t.test('records that drop one file at once', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'races', fields);
  for (let round = 0; round < 5; round++) {
    const [file, other] = [await upload(), await upload()];
    const records = (await space.insert(Array.from({ length: 8 }, () => ({ photo: file })))).body;
    await Promise.all(
      records.map(({ id }: { id: string }, at: number) =>
        at % 2 === 0 ? space.deleteOneById(id) : space.updateOneById(id, { photo: other }),
      ),
    );
    await goes(t, [file]);
    await stays(t, [other]);
  }
});

t.test('an insert beside the last drop: stored with its file, or refused', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'beside', fields);
  for (let round = 0; round < 20; round++) {
    const file = await upload();
    const { body } = await space.insertOne({ photo: file });
    const dropped = space.deleteOneById(body.id).then(() => void gateway.deleteCondemned());
    const inserts = await Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        for (let turn = 0; turn < at * 3; turn++) await new Promise((resolve) => setImmediate(resolve));
        return space.insertOne({ photo: file });
      }),
    );
    await dropped;
    const stored = inserts.filter(({ status }) => status === 200);
    for (const refused of inserts.filter(({ status }) => status !== 200)) t.equal(refused.status, 400);
    if (stored.length > 0) {
      await stays(t, [file]);
      await space.clear();
    }
    await goes(t, [file]);
  }
});

t.test('an import names files', async (t: Test) => {
  const space = spaceOf(harness, 'demo', 'imported', fields);
  await space.make();
  const [a, b, c] = [await upload(), await upload(), await upload()];
  const load = async (rows: readonly object[], query = '') => {
    const path = `${space.path}/_import_`;
    const headers = { 'content-type': 'application/x-ndjson' };
    const body = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const { body: job } = await harness.call({ path, query, headers, body, structure: space.structure });
    const read = async () => (await harness.call({ path: `/_jobs_/${job.id}` })).body;
    await eventuallyEqual(t, async () => /done|failed/.test((await read()).state), true);
    return read();
  };
  const missing = `${randomUUID()}_a.txt`;
  const failed = await load([{ photo: a }, { title: 'x', album: [b, missing] }]);
  t.match(failed, {
    state: 'failed',
    problems: [{ field: 'album', reason: /the project has no such file/ }],
  });
  await stays(t, [a, b, c], 'their records never were');
  t.match(await load([{ photo: { name: a } }, { album: [b, c] }, {}]), { state: 'done', inserted: 3 });
  const records = (await space.find()).body;
  t.match(records, [{ photo: shown(a) }, { album: [shown(b), shown(c)] }, { photo: null }]);
  await stays(t, [a, b, c]);
  await space.deleteOneById(records[0].id);
  await goes(t, [a]);
  await stays(t, [b, c]);
  const csv = await harness.call({ path: `${space.path}/_export_.csv`, structure: space.structure });
  await space.clear();
  await goes(t, [b, c]);
  t.ok(csv.text.includes(b));
});
