import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AccessTokens, hashToken } from '#auth/access-tokens.ts';
import { bootstrap, executeTokenOrder } from '#auth/execute-token-order.ts';
import { createTokenGate } from '#auth/token-gate.ts';
import { AccountRemovals } from '#catalogue/account-removals.ts';
import { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { Projects } from '#catalogue/projects.ts';
import { UsageCounts } from '#catalogue/usage-counts.ts';
import { Users } from '#catalogue/users.ts';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import type { Database } from '#engine/database.ts';
import { GroupCommit } from '#engine/group-commit.ts';
import { DeadAddresses } from '#events/dead-addresses.ts';
import { DeliveryTable } from '#events/delivery-table.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { fileRow } from '#gateway/catalogue/file-row.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { exportFormats } from '#query/operations/export-as.ts';
import { sweepLeft } from '#query/space/removals.ts';
import { makeSpaceViews } from '#query/space/space-views.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { sweepReceipts } from '#records/keyed-insert.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import { CacheOutages } from '#records/store-shared/cache-outages.ts';
import type { StreamBody } from '#server/http/http-types.ts';
import { driveSessions } from './drive-sessions.ts';
import { newFile, testDeployment } from './new-file.ts';
import {
  testDatabase as database,
  type QueryCall,
  type QueryHarness,
  spaceOf,
  testWebhooks,
} from './query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from './record-client.ts';
import { silentLog } from './silent-log.ts';
import { storeObject } from './store-object.ts';

async function driveImports(harness: QueryHarness, expect: Expect): Promise<void> {
  const csv = { method: 'POST', path: '/p/users/_import_', headers: { 'content-type': 'text/csv' } };
  const { body: job } = await expect(
    { ...csv, body: 'email,level\nimported@x,1\nada@x,2\n', query: 'onError=skip' },
    'POST /:project/:space/_import_',
    202,
  );
  const path = `/_jobs_/${job.id}`;
  while ((await harness.call({ path })).body.endedAt === null) await sleep(20);
  const moved = { ...csv, body: 'id,email\nkept,kept@x\n', query: 'keep=id' };
  const headers = { ...csv.headers, 'test-grants': JSON.stringify({ may: ['insert', 'backup'] }) };
  const { body: second } = await harness.call({ ...moved, headers });
  while ((await harness.call({ path: `/_jobs_/${second.id}` })).body.endedAt === null) await sleep(20);
  await expect({ path }, 'GET /_jobs_/:job');
  await expect({ path: '/_jobs_', query: `limit=1&after=${job.id}` }, 'GET /_jobs_');
  await expect({ method: 'DELETE', path }, 'DELETE /_jobs_/:job');
}

/** Files that records name, until they go. */
async function driveFileFields(harness: QueryHarness): Promise<void> {
  const { db } = harness;
  const file = newFile({ ownerId: 'owner', projectSlug: 'p' });
  const { name } = file;
  await createCloudFiles({ db, database }).insert(file, signal);
  const structure = structureOf('p', 'photos', [{ name: 'photo', type: 'FILE' }]);
  const { body: one } = await harness.call({ path: '/p/photos/_single_', structure, body: { photo: name } });
  const csv = { method: 'POST', path: '/p/photos/_import_', headers: { 'content-type': 'text/csv' } };
  const { body: job } = await harness.call({ ...csv, body: `photo\n${name}\n` });
  while ((await harness.call({ path: `/_jobs_/${job.id}` })).body.endedAt === null) await sleep(20);
  await harness.call({ method: 'DELETE', path: '/p/photos', structure, query: [['id', one.id]] });
  await harness.call({ method: 'DELETE', path: '/p/photos/clear-records', structure });
  await harness.sweep();
  const uses = new FileUses({ db, database });
  const marks = new FileMarks({ db, database });
  const place = { ownerId: 'owner', slug: 'p' };
  if ((await marks.emptied([name], signal)).size > 0) throw new Error('the file is being emptied');
  if ((await marks.condemned(10, signal)).length !== 1) throw new Error('the file stays');
  if ((await uses.inUse(place, [name], signal)).size > 0) throw new Error('a use stays');
  await marks.deleted([{ place, name }], signal);
}

async function driveTables(harness: QueryHarness, expect: Expect): Promise<void> {
  const name = `${randomUUID()}_a.csv`;
  const key = fileKey({ deploymentId: testDeployment, ownerId: 'owner', projectSlug: 'p', name });
  const store = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
  await storeObject(store, key, Buffer.from('a\n1\n'));
  await store.close();
  const asked = { path: `/_f_/p/${name}`, body: { a: 1 } };
  await expect({ ...asked, method: 'QUERY' }, 'QUERY /_f_/:project/:name');
  await expect({ ...asked, path: `${asked.path}/_find_` }, 'POST /_f_/:project/:name/_find_');
}

/** Asks for an address of a live query, and reads its records. */
async function watch(harness: QueryHarness, call: QueryCall): Promise<void> {
  const { body } = await harness.call(call);
  const query = (body as { address: string }).address.split('?')[1] as string;
  const answer = await harness.respond({ path: call.path, query });
  const { chunks } = answer.body as StreamBody;
  try {
    for await (const bytes of chunks) if (Buffer.from(bytes).includes('event: ready')) return;
  } catch (error) {
    // processes that hear of each other by Redis: of several stores, and of none here
    if (!(error instanceof ApiError && error.status === 501)) throw error;
  }
}

const fields: FieldInput[] = [
  { name: 'email', type: 'TEXT', required: true, unique: true },
  { name: 'password', type: 'TEXT', hashed: true },
  { name: 'level', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'more', type: 'OBJECT' },
];
const { signal } = new AbortController();

/**
 * Makes everything that emits statements do so once: migrations (by opening the harness), accounts, tokens, files, and
 * every operation of the query service. @returns `METHOD path` of each route that was called, with its parameters' names
 */
export async function driveEverything(harness: QueryHarness): Promise<ReadonlySet<string>> {
  const called = new Set<string>();
  const expect = async (call: QueryCall, route: string, status = 200): Promise<{ body: { id: string } }> => {
    const answer = await harness.call(call);
    if (answer.status !== status) {
      throw new Error(`${route}: ${answer.status} ${answer.code} ${answer.problems.join('; ')}`);
    }
    called.add(route);
    return answer;
  };
  await driveControl(harness.db);
  await driveSessions(harness.db, database);
  await driveFiles(harness.db);
  await driveUsage(harness.db);

  const structure = structureOf('p', 'users', fields, { initialData: [{ email: 'first@x', password: 'p' }] });
  const path = '/p/users';
  const of = (more: Partial<QueryCall>): QueryCall => ({ path, structure, ...more });
  const body = { email: 'ada@x', password: 'right', level: 1, active: true, tags: [1], more: { a: 1 } };
  await expect(of({ body: [body, { email: 'eve@x' }] }), 'POST /:project/:space');
  const { body: record } = await expect(
    of({ path: `${path}/_single_`, body: { ...body, email: 'bob@x' } }),
    'POST /:project/:space/_single_',
  );
  const keyed = of({ headers: { 'idempotency-key': 'k' }, body: { ...body, email: 'kay@x' } });
  await expect({ ...keyed, path: `${path}/_single_` }, 'POST /:project/:space/_single_');
  // so many unique values are looked up by a statement of their own
  const many = Array.from({ length: 20 }, (_, i) => ({ email: `${i}@many` }));
  await expect(of({ body: many }), 'POST /:project/:space');
  await expect(of({ body: many }), 'POST /:project/:space', 400);
  // and so many records are stored by statements of their own
  const hosts = Array.from({ length: 201 }, (_, i) => ({ email: `${i}@host` }));
  await expect(of({ body: hosts }), 'POST /:project/:space');
  await expect(of({ path: `${path}/openapi.json` }), 'GET /:project/:space/openapi.json');
  // those that come while others are read share a statement; of a few, each may find nobody there
  const together = Array.from({ length: 40 }, (_, level) => of({ query: `level=${level}` }));
  await Promise.all(together.map((call) => expect(call, 'GET /:project/:space')));
  // of records that nothing is known of, and so many of them that the space is preloaded
  for (let i = 0; i < 70; i++) await expect(of({ query: `id=${randomUUID()}` }), 'GET /:project/:space');
  const id: [string, string][] = [['id', record.id]];
  const conditions = 'email=ada@x&level=1&active=true&password=right';
  const options = { headers: { options: JSON.stringify({ sort: { by: 'level', order: 'desc' } }) } };
  await expect(of({ query: conditions }), 'GET /:project/:space');
  await expect(of({ ...options }), 'GET /:project/:space');
  const controls = '$sort=-level,email&$select=email&$limit=5&$count=exact';
  await expect(of({ query: `level[gte]=1&${controls}` }), 'GET /:project/:space');
  await expect(
    of({ path: `${path}/_single_`, query: `level[gte]=1&${controls}` }),
    'GET /:project/:space/_single_',
  );
  const inBody = { body: { email: 'ada@x', level: 1 } };
  await expect(of({ ...inBody, method: 'QUERY' }), 'QUERY /:project/:space');
  await expect(of({ ...inBody, path: `${path}/_find_` }), 'POST /:project/:space/_find_');
  const single = `${path}/_single_`;
  await expect(of({ ...inBody, method: 'QUERY', path: single }), 'QUERY /:project/:space/_single_');
  await expect(of({ ...inBody, path: `${single}/_find_` }), 'POST /:project/:space/_single_/_find_');
  for (const format of exportFormats) {
    const file = `${path}/_export_.${format}`;
    const query = 'level[gte]=1&password=right&$sort=-level&$limit=5';
    await expect(of({ path: file, query }), `GET /:project/:space/_export_.${format}`);
    await expect(of({ ...inBody, method: 'QUERY', path: file }), `QUERY /:project/:space/_export_.${format}`);
  }
  await watch(harness, of({ path: `${path}/_live_`, body: { level: 1 } }));
  called.add('POST /:project/:space/_live_').add('GET /:project/:space/_live_');
  const counted = `${path}/_count_`;
  await expect(of({ path: counted, query: conditions }), 'GET /:project/:space/_count_');
  await expect(of({ ...inBody, method: 'QUERY', path: counted }), 'QUERY /:project/:space/_count_');
  const aggregate = of({
    path: `${path}/_aggregate_`,
    body: {
      where: { level: { gte: 1 } },
      groupBy: ['active', 'tags', 'more.a', { bucket: 'createdAt', every: '1mo', timeZone: 'Europe/Paris' }],
      values: { n: 'count', level: { quantile: ['level', 0.5] }, emails: { distinct: 'email' } },
      having: { n: { gte: 1 } },
      sort: [{ by: 'n', order: 'desc' }],
    },
  });
  await expect(aggregate, 'POST /:project/:space/_aggregate_');
  await expect({ ...aggregate, method: 'QUERY' }, 'QUERY /:project/:space/_aggregate_');
  await expect(of({ path: `${path}/_single_`, query: conditions }), 'GET /:project/:space/_single_');
  const text: [string, string][] = [
    ['searchText', 'AD'],
    ['searchableFields[]', 'email'],
  ];
  await expect(of({ path: `${path}/search`, query: text }), 'GET /:project/:space/search');
  await expect(
    of({ path: `${path}/update`, query: 'email=ada@x', body: { level: 2 } }),
    'POST /:project/:space/update',
  );
  await expect(
    of({ path: `${path}/update-by-id`, query: id, body: { email: 'bill@x', tags: null } }),
    'POST /:project/:space/update-by-id',
  );
  const all = { where: { email: { startsWith: '' } } };
  const update = { ...all, set: { active: false }, inc: { level: 1 } };
  await expect(of({ path: `${path}/_update_`, body: update }), 'POST /:project/:space/_update_');
  await expect(
    of({ path: `${path}/_delete_`, body: { where: { email: '0@many' } } }),
    'POST /:project/:space/_delete_',
  );
  await expect(
    of({ path: `${path}/_delete_`, body: { where: { email: { in: ['1@many', '2@many'] } } } }),
    'POST /:project/:space/_delete_',
  );
  const resources = {
    'function-resources': JSON.stringify({ mustExistSpaceStructures: [JSON.parse(structure)] }),
  };
  const login = {
    path: '/p/function/login',
    headers: resources,
    body: { email: 'ada@x', password: 'right' },
  };
  const answer = await harness.call(login);
  if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.code} ${answer.problems}`);
  called.add('POST /:project/function/login');
  await expect(
    of({ path: `${path}/get-token-owner`, headers: { token: answer.body.token } }),
    'GET /:project/:space/get-token-owner',
  );
  const ofLogin = { headers: { ...resources, token: answer.body.token }, body: {} };
  const renewed = { path: '/p/function/refresh-login', ...ofLogin };
  await expect(renewed, 'POST /:project/function/refresh-login', 403);
  await expect({ path: '/p/function/logout', ...ofLogin }, 'POST /:project/function/logout');
  await expect(of({ method: 'DELETE', query: id }), 'DELETE /:project/:space');
  await expect(
    of({ method: 'DELETE', path: `${path}/clear-records` }),
    'DELETE /:project/:space/clear-records',
  );
  await driveStructures(harness, expect);
  await driveTypes(harness, expect);
  await driveSignUp(harness, expect);
  await driveWebhooks(harness, expect);
  await driveProjects(harness, expect);
  await expect({ path: '/_usage_' }, 'GET /_usage_');
  await driveImports(harness, expect);
  await driveFileFields(harness);
  await driveTables(harness, expect);
  await driveViews(harness);
  await driveOutages(harness);
  const inThreeDays = (): number => Date.now() + 3 * 86_400_000;
  await sweepReceipts({ store: harness.store, log: silentLog(), now: inThreeDays }, signal);
  await driveRemoval(harness);
  return called;
}

type Expect = (
  call: QueryCall,
  route: string,
  status?: number,
) => Promise<{ readonly body: { readonly id: string } }>;

/** Changes the type of a field that has values, until the old ones are gone, and the form of another's. */
async function driveTypes(harness: QueryHarness, expect: Expect): Promise<void> {
  const path = '/p/typed';
  const of = (type: string) => structureOf('p', 'typed', [{ name: 'a', type, unique: true }]);
  await expect({ path, structure: of('TEXT'), body: [{ a: '1' }] }, 'POST /:project/:space');
  await expect({ path, structure: of('NUMBER') }, 'GET /:project/:space');
  // more than a table begins with
  const wide = structureOf('p', 'wide', fieldsOf('a NUMBER, b NUMBER, c NUMBER, d DATETIME'));
  await expect({ path: '/p/wide', structure: wide, body: [{ c: 1 }] }, 'POST /:project/:space');
  const named = (more: Partial<FieldInput>) =>
    structureOf('p', 'named', [{ name: 'a', type: 'TEXT', ...more }]);
  await expect({ path: '/p/named', structure: named({}), body: [{ a: 'É' }] }, 'POST /:project/:space');
  await expect({ path: '/p/named', structure: named({ normalize: ['lower'] }) }, 'GET /:project/:space');
  const id = uuidV5('owner', 'p', 'typed');
  const sql = `SELECT toFloat64(length(_doc)) AS slots FROM ${database}.records WHERE space = '${id}'`;
  for (;;) {
    const [row] = await harness.db.rows<{ slots: number }>({
      sql,
      home: new RecordsTable(harness.db, database).homeOf(id),
    });
    if (row?.slots === 1) break;
  }
}

async function driveSignUp(harness: QueryHarness, expect: Expect): Promise<void> {
  const fields = fieldsOf('email TEXT unique, password TEXT hashed, verified BOOLEAN');
  await spaceOf(harness, 'p', 'members', fields).make();
  const signUp = { verified: 'verified', webhook: 'http://127.0.0.1:9/' };
  const rules = { method: 'PUT', path: '/_projects_/p/spaces/members/rules', body: { signUp } };
  await expect(rules, 'PUT /_projects_/:project/spaces/:space/rules');
  const headers = {
    'function-resources': JSON.stringify({ mustExistSpaceStructures: [{ slug: 'members' }] }),
  };
  const ask = (name: string, body: object, status: number) =>
    expect({ path: `/p/function/${name}`, headers, body }, `POST /:project/function/${name}`, status);
  const email = 'ada@example.com';
  await ask('sign-up', { email, password: 'right' }, 202);
  await ask('sign-up', { email, password: 'right' }, 202);
  await ask('verify-email', { email, code: 'AAAA-AAAA' }, 403);
  await ask('reset-password', { email }, 202);
}

async function driveWebhooks(harness: QueryHarness, expect: Expect): Promise<void> {
  for (const name of ['send-otp', 'send-push-notification']) {
    const route = `/function/${name}`;
    await expect({ path: `/p${route}`, body: {} }, `POST /:project${route}`, 501);
  }
  const structure = structureOf('p', 'hooked', [{ name: 'a', type: 'TEXT' }], {
    webhooks: { onInsertUrl: 'http://127.0.0.1:9/' },
    initialData: [{ a: 'first' }],
  });
  // a space that exists by then is asked whether it is empty
  await spaceOf(harness, 'p', 'hooked', structureOf('p', 'hooked', [{ name: 'a', type: 'TEXT' }])).make();
  const path = '/p/hooked';
  await expect({ path, structure, body: [{ a: 'x' }] }, 'POST /:project/:space');
  const fields = { from: 'hooked', foreignKey: 'a', localKey: 'a', newField: 'same' };
  const options = JSON.stringify({ populate: [{ space: 'hooked', fields }] });
  await expect({ path, structure, headers: { options } }, 'GET /:project/:space');
  await expect({ path: '/_webhooks_/secret' }, 'GET /_webhooks_/secret');
  await expect({ path: '/_webhooks_/deliveries' }, 'GET /_webhooks_/deliveries');
  const { body } = await harness.call({ path: '/_webhooks_/deliveries' });
  await expect(
    { method: 'POST', path: `/_webhooks_/deliveries/${body[0].id}/send` },
    'POST /_webhooks_/deliveries/:id/send',
  );
  await expect({ path: '/_webhooks_/addresses' }, 'GET /_webhooks_/addresses');
  const url = 'http://127.0.0.1:9/';
  await new DeadAddresses({ db: harness.db, database }).switchOff('owner', url, 'answered 410 Gone');
  await expect(
    { method: 'POST', path: '/_webhooks_/addresses/on', query: [['url', url]] },
    'POST /_webhooks_/addresses/on',
  );
  await driveSender(harness.db);
}

/** What a process does for others: it says that it lives, and takes over what one that died had to send. */
async function driveSender(db: Database): Promise<void> {
  const heir = testWebhooks({ db, singleWriter: false, silence: -1000 });
  await heir.start();
  await heir.close();
  await new DeliveryTable({ db, database }).content({ ownerId: 'owner', id: 'none', bytes: 1 });
}

async function driveStructures(harness: QueryHarness, expect: Expect): Promise<void> {
  const keys = structureOf('p', 'keys', [{ name: 'theme', type: 'TEXT' }]);
  const key = { structure: keys, body: { theme: 'dark' }, path: '/p/keys/set-key-values' };
  await expect(key, 'POST /:project/:space/set-key-values');
  await expect({ structure: keys, path: '/p/keys/get-key-values' }, 'GET /:project/:space/get-key-values');
  const loose = structureOf('p', 'rules', [{ name: 'a', type: 'TEXT' }]);
  const strict = structureOf('p', 'rules', [
    { name: 'a', type: 'TEXT', required: true, unique: true },
    { name: 'b', type: 'NUMBER' },
  ]);
  await expect({ structure: loose, path: '/p/rules', body: [{ a: 'x' }] }, 'POST /:project/:space');
  // a rule that is switched on looks at what is stored
  await expect(
    { path: '/p/rules/set-structure', body: JSON.parse(strict) },
    'POST /:project/:space/set-structure',
  );
  await expect(
    { path: '/p/inferred/set-inferred-structure', body: { x: 1 } },
    'POST /:project/:space/set-inferred-structure',
  );
  await expect(
    { path: '/p/inferred/get-inferred-structure', body: { x: 1 } },
    'POST /:project/:space/get-inferred-structure',
  );
  await expect(
    { path: '/p/rules', structure: strict, headers: { 'clear-all-spaces': 'true' } },
    'GET /:project/:space',
  );
  const rules = spaceOf(harness, 'p', 'rules', strict);
  await rules.insertOne({ a: 'again' });
  // of a small space no sample is taken
  const large = spaceOf(harness, 'p', 'large', [{ name: 'a', type: 'TEXT' }]);
  await large.insert(Array.from({ length: 1100 }, (_, index) => ({ a: `${index}` })));
  await large.find('a=7');
}

async function driveProjects(harness: QueryHarness, expect: Expect): Promise<void> {
  const fields = [
    { name: 'a', type: 'TEXT', unique: true },
    { name: 'b', type: 'NUMBER' },
    { name: 'c', type: 'TEXT', hashed: true },
  ];
  for (const slug of ['one', 'two']) {
    const structure = structureOf('drops', slug, fields);
    const body = [{ a: 'x', b: 1, c: 'y' }];
    await expect({ path: `/drops/${slug}`, structure, body }, 'POST /:project/:space');
  }
  const base = '/_projects_/:project/spaces';
  const path = '/_projects_/drops/spaces';
  await expect({ path: '/_projects_', query: 'after=a' }, 'GET /_projects_');
  await expect({ path, query: 'search=O&after=a' }, `GET ${base}`);
  await expect({ path: `${path}/one` }, `GET ${base}/:space`);
  const rules = `${path}/one/rules`;
  const ofRules = `${base}/:space/rules`;
  await expect({ method: 'PUT', path: rules, body: { find: { a: 'x' }, update: true } }, `PUT ${ofRules}`);
  await expect({ path: rules }, `GET ${ofRules}`);
  const tried = { path: `${rules}/try`, body: { operation: 'update', record: { b: 2 } } };
  await expect(tried, `POST ${ofRules}/try`);
  await driveOidc(expect, path);
  const presets = '/_projects_/:project/files/presets';
  const ofPresets = '/_projects_/drops/files/presets';
  await expect({ method: 'PUT', path: ofPresets, body: { a: { width: 1, height: 1 } } }, `PUT ${presets}`);
  await expect({ path: ofPresets }, `GET ${presets}`);
  const ofFiles = '/_projects_/drops/files/rules';
  const fileRules = '/_projects_/:project/files/rules';
  await expect({ method: 'PUT', path: ofFiles, body: { read: true } }, `PUT ${fileRules}`);
  await expect({ path: ofFiles }, `GET ${fileRules}`);
  await expect({ path: `${ofFiles}/try`, body: { operation: 'read' } }, `POST ${fileRules}/try`);
  await expect(
    { path: `${ofFiles}/try`, body: { operation: 'read', names: ['none'] } },
    `POST ${fileRules}/try`,
  );
  const drop = (at: string, route: string) => expect({ method: 'DELETE', path: at }, `DELETE ${route}`, 204);
  for (const field of ['a', 'c']) await drop(`${path}/one/fields/${field}`, `${base}/:space/fields/:field`);
  await drop(`${path}/one`, `${base}/:space`);
  await drop('/_projects_/drops', '/_projects_/:project');
  const { catalogue } = harness;
  for (const dropped of await catalogue.leftBehind(new Date(), 1, signal))
    await catalogue.swept(dropped, signal);
  await sweepLeft({ store: harness.store, catalogue, log: silentLog() }, signal);
}

async function driveOidc(expect: Expect, path: string): Promise<void> {
  const returnTo = 'https://app.example.com/';
  const settings = {
    issuer: 'https://login.example.com',
    ...{ clientId: 'app', clientSecret: 'secret', field: 'a', claim: 'sub', returnTo: [returnTo] },
  };
  const route = '/_projects_/:project/spaces/:space/oidc';
  await expect({ method: 'PUT', path: `${path}/one/oidc`, body: settings }, `PUT ${route}`);
  await expect({ path: `${path}/one/oidc` }, `GET ${route}`);
  const body = { returnTo, challenge: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg' };
  // there is no such provider
  await expect({ path: '/drops/one/_oidc_/start', body }, 'POST /:project/:space/_oidc_/start', 503);
  const code = { path: '/drops/function/oidc-login', body: { code: 'x', verifier: 'x' } };
  await expect(code, 'POST /:project/function/oidc-login', 401);
  for (const step of ['start', 'callback'])
    await expect({ path: `/_oidc_/${step}`, query: 'key=x&state=x' }, `GET /_oidc_/${step}`, 401);
}

/** An account is deleted with all that it has. */
async function driveRemoval(harness: QueryHarness): Promise<void> {
  const { db } = harness;
  const log = silentLog();
  const closed = new ClosedAccounts({ db, database, log, singleWriter: true });
  await closed.start();
  const locks = ownLocks();
  const removals = new AccountRemovals({ db, database, closed, locks, log, heardAfter: 0, grace: 0 });
  const usage = new UsageCounts({ db, database, log });
  const done = new Promise<void>((resolve, reject) => {
    removals.add('records', async (id, stop, isLast) => {
      try {
        await harness.removeAccount(id, stop, isLast);
        await usage.removeAll(id, stop);
      } catch (error) {
        reject(error);
      }
      if (isLast) resolve();
    });
  });
  removals.start();
  await closed.delete('owner');
  await done;
  await removals.close();
  await closed.close();
}

async function driveOutages({ db }: QueryHarness): Promise<void> {
  const outages = new CacheOutages({ db, database });
  outages.trusted();
  await outages.cover();
}

async function driveViews(harness: QueryHarness): Promise<void> {
  await new Users({ db: harness.db, database }).create({ id: 'owner', email: 'owner@x', name: '' });
  await makeSpaceViews({ ...harness, database }, { project: 'p' });
}

async function driveControl(db: Database): Promise<void> {
  const users = new Users({ db, database });
  const deployment = await openDeployment({ db, database });
  const tokens = new AccessTokens({ db, database, deployment });
  await createTokenGate({ tokens, deployment }).admits('unknown', '');
  await bootstrap({ users, tokens, token: undefined });
  const services = { users, tokens, tokenCheck: { invalidate: async () => true } };
  const email = 'a@x';
  const order = { action: 'create', email, createUser: true, name: 'n', expiresIn: 60_000 } as const;
  const token = await executeTokenOrder(services, order);
  await executeTokenOrder(services, { action: 'list', email });
  await executeTokenOrder(services, { action: 'revoke', token });
  await tokens.noteUses(new Map([[hashToken(token), new Date()]]));
  await new TableCatalogue({ db, database }).isEmpty(signal);
  await new Projects({ db, database, maxProjects: 5 }).ensure('somebody', 'limited', signal);
}

async function driveUsage(db: Database): Promise<void> {
  const usage = new UsageCounts({ db, database, log: silentLog() });
  usage.add('somebody', 'p', { requests: 1 });
  await usage.write();
  const today = new Date().toISOString().slice(0, 10);
  const days = await usage.of('somebody', { from: today, to: today }, signal);
  if (days?.length !== 1) throw new Error('the figures are lost');
}

async function driveFiles(db: Database): Promise<void> {
  const now = new Date();
  const file = newFile({ createdAt: now, updatedAt: now });
  const { id, name } = file;
  await createCloudFiles({ db, database }).insert(file, signal);
  const files = createCloudFiles({ db, database });
  if ((await files.findByName(name, signal))?.id !== id) throw new Error('the file is not found');
  if ((await files.findByPrefixes([name.slice(0, 20)], signal)).length !== 1)
    throw new Error('the file is not found by how its name begins');
  const names = await files.namesWithRow([name, 'other'], signal);
  if (names.size !== 1) throw new Error('the row is not found');
  const made = await files.madeBetween(
    new Date(now.getTime() - 1000),
    new Date(now.getTime() + 1000),
    9,
    signal,
  );
  if (made.length !== 1) throw new Error('the row is not found by its time');
  const due = { now: now.getTime() - 1000, grace: 0, trashedFor: 0, limit: 2, names: [name] };
  await files.change([name], { trashedAt: now }, signal);
  if ((await files.findDue(due, signal)).length > 0) throw new Error('the file is due too early');
  await files.change([name], { trashedAt: null }, signal);
  await driveFolders(db, file);
  if ((await files.findByDigest({ ...file, sha256: '0'.repeat(64) }, signal)) !== null)
    throw new Error('a file without a digest is found by one');
  if ((await files.usedBy(file.ownerId, signal)).files !== 1) throw new Error('the file is not counted');
  const { ownerId, projectSlug } = file;
  const asked = {
    name: 'A',
    type: 'text/',
    from: now,
    to: now,
    after: { createdAt: now, id: 'x', originalName: 'x' },
  };
  await files.list({ ...asked, ownerId, projectSlug, limit: 2 }, signal);
  await files.count({ ownerId, projectSlug, limit: 2, byName: true }, signal);
  await files.findByDigest({ ownerId, projectSlug, sha256: '0'.repeat(64) }, signal);
  await files.remove(name, signal);
  // what the write-ahead log brings
  await files.insertRows([fileRow(file)]);
  if (!(await files.namesWithRow([name], signal)).has(name))
    throw new Error('the rows of the write-ahead log are lost');
  await files.remove(name, signal);
  await driveLookAfterFailure(db, file.name);
}

async function driveFolders(db: Database, like: CloudFile): Promise<void> {
  const files = createCloudFiles({ db, database });
  const { ownerId, projectSlug, createdAt } = like;
  const place = { folder: randomUUID(), path: 'a.ts' };
  const at = (time: Date) => newFile({ ownerId, projectSlug, createdAt: time, updatedAt: time, ...place });
  const older = at(new Date(createdAt.getTime() - 1));
  const newer = at(createdAt);
  for (const file of [older, newer]) await files.insert(file, signal);
  const others = createCloudFiles({ db, database });
  if (!(await others.ownerOfFolder(place.folder, signal))) throw new Error('the folder is not found');
  if ((await others.findInFolder(place, signal))?.name !== newer.name)
    throw new Error('the newest file of a path is not found');
  const since = new Date(createdAt.getTime() - 1000);
  const [replaced] = await files.replacedBetween(since, new Date(Date.now() + 1000), 9, signal);
  if (replaced?.name !== older.name) throw new Error('the replaced file is not found');
  await files.change([older.name], { state: 'refused' }, signal);
  const query = { state: 'refused', before: new Date(Date.now() + 1000), limit: 9, perOwner: 9 } as const;
  if ((await files.withState(query, signal)).length !== 1) throw new Error('the refused file is not found');
  for (const { name } of [older, newer]) await files.remove(name, signal);
}

/** A group commit that failed looks for its rows. */
async function driveLookAfterFailure(db: Database, name: string): Promise<void> {
  const failing: Database = { ...db, insert: () => Promise.reject(new Error('as if the engine failed')) };
  const commit = new GroupCommit({ db: failing, pendingLimit: 1e6, insertLimit: 1e6 });
  const table = `${database}.cloud_files`;
  const proof = `SELECT 1 FROM ${table} WHERE name = '${name}' LIMIT 1`;
  const rows = { table, columns: ['name'], lines: Buffer.from('["x"]\n') };
  await commit.write({ ...rows, home: 'cloud_files', account: 'a', proof, signal }).then(
    () => {
      throw new Error('the row is not there, and was acknowledged');
    },
    () => {},
  );
}
