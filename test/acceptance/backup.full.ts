/** Backup and restore as docs/operations.md has them, on real parts. */
import { createHash, randomBytes } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { type Answer, call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { runToEnd, type Sluice, startSluice } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const structure = structureOf(
  'shop',
  'users',
  fieldsOf('email TEXT unique, password TEXT hashed, level NUMBER, tags ARRAY'),
);
const fileBytes = randomBytes(6_000_000);
const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

type Caller = (path: string, more?: object) => Promise<Answer>;
const callerOf = ({ baseUrl, token }: Pick<Sluice, 'baseUrl' | 'token'>): Caller => {
  return (path, more = {}) => call({ baseUrl, token, path: `/shop/users${path}`, structure, ...more });
};
const login = async ({ baseUrl, token }: Sluice): Promise<string> => {
  const answer = await call({
    baseUrl,
    token,
    path: '/shop/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${structure}]}` },
    body: { email: 'ada@x', password: 'correct horse' },
  });
  return answer.body.token as string;
};

interface Stored {
  readonly accessToken: string;
  readonly loginToken: string;
  readonly ada: { readonly id: string };
  readonly fileName: string;
}

/** Something of every kind that is kept. */
async function fill(t: Test, sluice: Sluice): Promise<Stored> {
  const users = callerOf(sluice);
  const made = await users('', {
    body: [
      { email: 'ada@x', password: 'correct horse', level: 1, tags: ['a', { b: 1 }] },
      { email: 'eve@x', level: 2 },
      { email: 'bob@x', level: 3 },
    ],
  });
  t.equal(made.status, 200);
  const [ada, eve, bob] = made.body as { id: string }[];
  // changes that the engine may still hold apart from the rows
  t.equal((await users(`/update-by-id?id=${eve?.id}`, { body: { level: 20 } })).status, 200);
  t.equal((await users(`?id=${bob?.id}`, { method: 'DELETE' })).status, 200);
  const form = new FormData();
  form.set('file', new Blob([fileBytes]), 'photo.jpg');
  const uploaded = await fetch(`${sluice.baseUrl}/_f_/shop/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sluice.token}` },
    body: form,
  });
  const { name: fileName } = (await uploaded.json()) as { name: string };
  const token = await runToEnd('cli/token.ts', [], tokenEnv(sluice));
  return {
    accessToken: token.stdout.trim(),
    loginToken: await login(sluice),
    ada: ada as { id: string },
    fileName,
  };
}

const environments = new WeakMap<Sluice, Record<string, string>>();
const tokenEnv = (sluice: Sluice): Record<string, string> => ({
  DATA_DIR: sluice.dataDir,
  ...environments.get(sluice),
});

/** What happens after the backup, and must not be there when it is restored. */
async function goOn(t: Test, sluice: Sluice): Promise<void> {
  const users = callerOf(sluice);
  t.equal((await users('', { body: [{ email: 'late@x' }] })).status, 200);
  t.equal((await users('?email=ada@x', { method: 'GET' })).body.length, 1);
  t.equal((await users('/update?email=ada@x', { body: { level: 99 } })).status, 200);
}

async function check(t: Test, sluice: Sluice, stored: Stored): Promise<void> {
  const users = callerOf({ baseUrl: sluice.baseUrl, token: stored.accessToken });
  const all = await users('');
  t.equal(all.status, 200, 'the access token is good');
  t.strictSame(
    (all.body as { email: string; level: number }[]).map(({ email, level }) => [email, level]).sort(),
    [
      ['ada@x', 1],
      ['eve@x', 20],
    ],
    'all that there was, and nothing that came later',
  );
  const one = await users('/_single_?email=ada@x');
  t.match(one.body, { id: stored.ada.id, level: 1, tags: ['a', { b: 1 }] });
  t.notOk(one.body.password);
  t.match(await users('/_single_', { body: { email: 'ada@x' } }), {
    status: 400,
    body: { code: 'not_unique' },
  });
  t.equal(
    (await users('/_single_', { body: { email: 'late@x' } })).status,
    200,
    'a value that is free again',
  );
  t.match((await users('/get-token-owner', { headers: { token: stored.loginToken } })).body, {
    email: 'ada@x',
  });
  t.ok(await login(sluice), 'the password is good');
  const file = await fetch(`${sluice.baseUrl}/_f_/shop/${stored.fileName}`);
  t.equal(file.status, 200);
  t.equal(sha(new Uint8Array(await file.arrayBuffer())), sha(fileBytes), 'every byte of the file');
}

/** With what is stored beside each object, as `rclone sync --metadata` does it. */
async function copyBucket(from: S3Stub, to: S3Stub): Promise<void> {
  const [source, target] = [sdkClient(from), sdkClient(to)];
  const { Contents = [] } = await source.send(new ListObjectsV2Command({ Bucket: from.bucket }));
  for (const { Key } of Contents) {
    const object = await source.send(new GetObjectCommand({ Bucket: from.bucket, Key }));
    await target.send(
      new PutObjectCommand({
        Bucket: to.bucket,
        Key,
        Body: (await object.Body?.transformToByteArray()) ?? '',
        ContentType: object.ContentType,
        ContentDisposition: object.ContentDisposition,
        Metadata: object.Metadata,
      }),
    );
  }
  source.destroy();
  target.destroy();
}

t.test('the embedded store: DATA_DIR, copied while the server is stopped', async (t) => {
  const folder = await temporaryFolder(t);
  const [data, backup, elsewhere] = ['data', 'backup', 'elsewhere'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  let sluice = await startSluice({ dataDir: data });
  const stored = await fill(t, sluice);
  t.equal(await sluice.stop(), 0);
  await cp(data, backup, { recursive: true, preserveTimestamps: true });
  sluice = await sluice.restart();
  await goOn(t, sluice);
  await sluice.kill();
  await rm(data, { recursive: true });

  await cp(backup, elsewhere, { recursive: true, preserveTimestamps: true });
  const restored = await startSluice({ dataDir: elsewhere });
  await check(t, restored, stored);
  t.equal(await restored.stop(), 0);
  t.notMatch(restored.stderr(), /"level":[56]0/);
});

t.test('ClickHouse and S3: BACKUP of the database, then a copy of the bucket', async (t) => {
  const folder = await temporaryFolder(t);
  const engine = await startClickhouse({ backups: folder });
  const stub = await startS3Stub();
  const env = { ...stubSettings(stub), CLICKHOUSE_URL: engine.url };
  const sluice = await startSluice({ env, dataDir: join(folder, 'data') });
  environments.set(sluice, env);
  const stored = await fill(t, sluice);

  // while it serves; the database first, so that every row's object is in the copy of the bucket
  const statement = async (url: string, sql: string): Promise<string> => {
    const response = await fetch(url, { method: 'POST', body: sql });
    const text = await response.text();
    t.equal(response.status, 200, text);
    return text;
  };
  const file = `File('${join(folder, 'sluice')}')`;
  const tables = await statement(
    engine.url,
    "SELECT name FROM system.tables WHERE database = 'sluice' AND engine LIKE '%MergeTree' FORMAT TSV",
  );
  // BACKUP leaves out updates that are not part of the rows yet
  for (const name of tables.trim().split('\n')) {
    await statement(engine.url, `ALTER TABLE sluice.${name} APPLY PATCHES SETTINGS mutations_sync = 2`);
  }
  await statement(engine.url, `BACKUP DATABASE sluice TO ${file}`);
  await goOn(t, sluice);
  const copy = await startS3Stub();
  await copyBucket(stub, copy);
  await sluice.kill();
  await engine.close();
  await stub.close();

  const fresh = await startClickhouse({ backups: folder });
  await statement(fresh.url, `RESTORE DATABASE sluice FROM ${file}`);
  const restored = await startSluice({
    env: { ...stubSettings(copy), CLICKHOUSE_URL: fresh.url },
    dataDir: join(folder, 'data-2'),
  });
  t.teardown(async () => {
    await restored.kill();
    await fresh.close();
    await copy.close();
  });
  await check(t, restored, stored);
  t.equal(await restored.stop(), 0);
  t.notMatch(restored.stderr(), /"level":[56]0/);
});
