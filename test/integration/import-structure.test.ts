/** An import that brings a structure went by what its file looked like: one bad number made a column of numbers TEXT. */
import { join } from 'node:path';
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import type { Job } from '../services/import-spaces.ts';
import { testDeployment } from '../services/new-file.ts';
import { type QueryCall, queryHarnessFor } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { freshness: { heardAfter: 0 } });
const stored = { 'use-pre-stored-structure': 'true' };

function spaceOf(slug: string) {
  const structure = (fields: readonly FieldInput[]) => structureOf('p', slug, fields);
  const send = (
    fields: readonly FieldInput[],
    body: string,
    query = '',
    headers: QueryCall['headers'] = {},
  ) =>
    harness.call({
      method: 'POST',
      path: `/p/${slug}/_import_`,
      query,
      body,
      structure: structure(fields),
      headers: { 'content-type': 'text/csv', ...headers },
    });
  const over = async (...args: Parameters<typeof send>): Promise<Job> => {
    const begun = await send(...args);
    let job = begun.body as Job;
    t.equal(begun.status, 202, begun.problems.join());
    const state = async (): Promise<boolean> => {
      job = (await harness.call({ path: `/_jobs_/${job.id}` })).body;
      return job.endedAt !== null;
    };
    await eventuallyEqual(t, state, true);
    return job;
  };
  const insert = (fields: readonly FieldInput[], body: unknown, headers: QueryCall['headers'] = {}) =>
    harness.call({ path: `/p/${slug}`, body, structure: structure(fields), headers });
  const types = async (): Promise<Record<string, string>> => {
    const entry = await harness.catalogue.find(uuidV5('owner', 'p', slug), new AbortController().signal);
    const fields = entry?.structure.fields ?? [];
    return Object.fromEntries(fields.map(({ name, type }) => [name, type]));
  };
  const all = async () => (await harness.call({ path: `/p/${slug}`, headers: stored })).body;
  return { structure, send, over, insert, types, all };
}

const priced = [
  ...fieldsOf('name TEXT required, price NUMBER'),
  { name: 'kind', type: 'TEXT', defaultValue: 'usual' },
];
const bad = 'name,price\nAda,1\nBob,none\n';
const good = 'name,price\nAda,1\nBob,2\n';
const cell = [{ line: 3, field: 'price' }];

t.test('a space that is not there', async (t) => {
  const space = spaceOf('fresh');
  const look = await space.send(priced, bad, 'dryRun=true');
  t.match(look, { status: 200, body: { problems: cell } });
  t.match(look.body.structure.recordStructure, [{ name: 'name', required: true }, { type: 'NUMBER' }, {}]);
  t.match(await harness.call({ path: '/p/fresh', headers: stored }), { status: 404 }, 'nothing was made');
  for (const query of ['', 'dryRun=true', 'dryRun=start'])
    t.match(await space.send(priced, good, query, { 'auto-create-record-space': 'false' }), {
      status: 404,
      code: 'record_space_not_found',
    });
  t.match(await space.over(priced, bad), { state: 'failed', problems: cell, problemCount: 1 });
  t.strictSame(await space.types(), { name: 'TEXT', price: 'NUMBER', kind: 'TEXT' });
  t.match(await space.over(priced, good), { state: 'done', inserted: 2 });
  t.match(await space.all(), [
    { name: 'Ada', price: 1, kind: 'usual' },
    { name: 'Bob', price: 2 },
  ]);
});

t.test('a stored structure is changed as an insert changes it', async (t) => {
  const space = spaceOf('changed');
  await space.insert(fieldsOf('name TEXT, old NUMBER'), [{ name: 'first', old: 1 }]);
  const fixed = { mutate: 'false' };
  const wider = [...fieldsOf('name TEXT, price NUMBER')];
  const asInsert = await space.insert(wider, [{ name: 'x', price: 1 }], fixed);
  t.match(asInsert.problems, [/price.* is not in the structure/]);
  t.match(await space.over(wider, good, '', fixed), { state: 'failed', problems: [{ reason: /price/ }] });
  t.match((await space.send(wider, good, 'dryRun=true', fixed)).body.problems, [{ field: 'price' }]);
  t.strictSame(await space.types(), { name: 'TEXT', old: 'NUMBER' });

  t.match((await space.send(wider, bad, 'dryRun=true')).body.problems, cell);
  t.strictSame(await space.types(), { name: 'TEXT', old: 'NUMBER' }, 'a look changes nothing');
  t.match(await space.over(wider, good), { state: 'done', inserted: 2 });
  t.strictSame(await space.types(), { name: 'TEXT', old: 'NUMBER', price: 'NUMBER' });

  // a field that the request does not declare is none for it
  t.match(await space.insert(wider, [{ name: 'x', old: 1 }]), {
    problems: [/old.* is not in the structure/],
  });
  t.match(await space.over(wider, 'name,old\nx,1\n'), { state: 'failed', problems: [{ reason: /old/ }] });

  // values that can become of another type do, and others are refused
  const texts = fieldsOf('name TEXT, price TEXT');
  t.match((await space.send(texts, bad, 'dryRun=true')).body.problems, []);
  t.match(await space.over(texts, bad), { state: 'done', inserted: 2 });
  t.match(await space.types(), { price: 'TEXT' });
  t.match(await space.send(wider, good), { status: 400, code: 'structure_conflict' });
  t.match(await space.send(texts, good, 'dryRun=true', { ...fixed }), { status: 200 });
  for (const query of ['', 'dryRun=true'])
    t.match(await space.send(wider, good, query, fixed), { status: 400, code: 'structure_conflict' });
  t.match(await space.send(wider, good, '', stored), { status: 400, code: 'invalid_header' });
});

t.test('an uploaded file, and a key that comes again with another structure', async (t) => {
  const space = spaceOf('stored-file');
  const files = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
  const name = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b_prices.csv';
  const address = { deploymentId: testDeployment, ownerId: 'owner', projectSlug: 'p', name };
  const { signal } = new AbortController();
  const writer = await files.create(fileKey(address), { contentType: 'text/csv', metadata: {} }, signal);
  const bytes = Buffer.from(bad);
  await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: 0 });
  t.match((await space.send(priced, '', `dryRun=true&from=${name}`)).body.problems, cell);
  t.match(await space.over(priced, '', `from=${name}`), { state: 'failed', problems: cell });
  await files.close();
  const key = { 'idempotency-key': 'once' };
  t.match(await space.send(priced, good, '', key), { status: 202 });
  t.match(await space.send(priced, good, '', key), { status: 202 });
  t.match(await space.send(priced.slice(0, 2), good, '', key), { status: 422 });
});

t.test('a token that may not change structures names stored fields as they are', async (t) => {
  const space = spaceOf('granted');
  const may = { 'test-grants': JSON.stringify({ may: ['find', 'insert'] }) };
  const few = fieldsOf('name TEXT, price NUMBER');
  t.match(await space.send(few, good, '', may), { status: 404 });
  t.match(await space.send(few, good, 'dryRun=true', may), { status: 404 });
  await space.insert(few, [{ name: 'first', price: 0 }]);
  for (const query of ['', 'dryRun=true'])
    t.match(await space.send(priced, good, query, may), { status: 403, code: 'not_granted' });
  t.match(await space.over(few, bad, '', may), { state: 'failed', problems: cell });
  t.match((await space.send(few, bad, 'dryRun=true', may)).body.problems, cell);
});
