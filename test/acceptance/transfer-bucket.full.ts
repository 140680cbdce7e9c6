/** Projects that `sluice export --to` and `sluice import --from` move through a bucket. */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import t from 'tap';
import { call } from '../services/record-client.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import type { OperationName } from '../services/s3-stub/operations.ts';
import { type S3Stub, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { runScript, runToEnd, type Sluice, sluiceFor } from '../services/start-sluice.ts';

import { temporaryFolder } from '../services/temporary-folder.ts';
import {
  files,
  filledServer,
  megabyte,
  people,
  transferEnvironment,
  upload,
} from '../services/transfer-project.ts';
import { watchChild } from '../services/watch-child.ts';

interface ListedFile {
  readonly originalName: string;
  readonly size: number;
}

/** The variables of a command for the stub. */
const bucketOf = (stub: S3Stub): Record<string, string> => ({
  S3_ENDPOINT: stub.endpoint,
  S3_REGION: stub.region,
  S3_ACCESS_KEY_ID: stub.accessKeyId,
  S3_SECRET_ACCESS_KEY: stub.secretAccessKey,
  S3_REQUEST_TIMEOUT_MS: '5000',
});
const environmentOf = (sluice: Sluice, stub: S3Stub) => transferEnvironment(sluice, bucketOf(stub));

const run = (
  script: 'cli/export.ts' | 'cli/import.ts',
  args: readonly string[],
  env: Record<string, string>,
) => runToEnd(script, args, env);

/** Ends an export when the bucket has begun so many requests of a kind. */
async function interrupted(
  stub: S3Stub,
  args: readonly string[],
  env: Record<string, string>,
  { signal, operation, count }: { signal: NodeJS.Signals; operation: OperationName; count: number },
): Promise<{ status: number | null; stderr: string }> {
  const before = stub.counts()[operation] ?? 0;
  const child = runScript('cli/export.ts', args, env);
  const { output, untilReady } = watchChild(child, 'cli/export.ts');
  await untilReady(async () => (stub.counts()[operation] ?? 0) >= before + count);
  child.kill(signal);
  const [status] = await once(child, 'close');
  return { status, stderr: output.stderr };
}

t.test('a project moves through a bucket', async (t) => {
  const stub = await startS3Stub({ pageSize: 3 });
  t.teardown(() => stub.close());
  const [from, to] = [await filledServer(t), await sluiceFor(t)];
  const [fromEnv, toEnv] = [await environmentOf(from, stub), await environmentOf(to, stub)];
  const address = `s3://${stub.bucket}/nightly/2026-11-30`;
  const out = ['--to', address];
  const pathsOf = () => stub.objects().map(({ key }) => key.replace('nightly/2026-11-30/', ''));

  await t.test('an interrupted export goes on, and leaves no upload', async (t) => {
    stub.fault({ operation: 'UploadPart', partNumber: 2, times: 1, action: { kind: 'hang' } });
    const stopped = await interrupted(stub, out, fromEnv, {
      signal: 'SIGINT',
      operation: 'UploadPart',
      count: 2,
    });
    t.match(stopped, { status: 1, stderr: /stopped: run the same command again to continue/ });
    t.strictSame(stub.openUploads(), []);
    t.notOk(pathsOf().includes('sluice-export.json'));
    t.match(await run('cli/import.ts', ['--from', address], toEnv), {
      status: 1,
      stderr: /not a complete export/,
    });
    stub.fault({ operation: 'UploadPart', partNumber: 2, times: 1, action: { kind: 'hang' } });
    await interrupted(stub, out, fromEnv, { signal: 'SIGKILL', operation: 'UploadPart', count: 2 });
    t.equal(stub.openUploads().length, 1, 'a killed command leaves its upload');
    const exported = await run('cli/export.ts', out, fromEnv);
    t.equal(exported.status, 0, exported.stderr);
    t.notMatch(exported.stderr, /bytes of records/, 'records were exported before');
    t.strictSame(stub.openUploads(), [], 'the next command removes it');
    t.notOk(pathsOf().some((path) => /^done-/.test(path)));
  });

  await t.test('an import makes the same project', async (t) => {
    const imported = await run('cli/import.ts', ['--from', address], toEnv);
    t.equal(imported.status, 0, imported.stderr);
    const verified = await run('cli/import.ts', ['--from', address, '--verify'], toEnv);
    t.match(verified, { status: 0, stdout: '' }, verified.stdout + verified.stderr);
    const { baseUrl, token } = to;
    const found = await call({ baseUrl, token, path: '/shop/People', structure: people, method: 'GET' });
    t.match(found.body, [{ name: 'Ada', paid: '123456789012345.67' }, { name: 'Größe 🙂' }]);
    const list = (await call({ baseUrl, token, path: '/_f_/shop?limit=100' })).body.files as ListedFile[];
    t.strictSame(
      list.map(({ originalName, size }) => [originalName, size]).sort(),
      Object.entries(files)
        .map(([name, { length }]) => [name, length])
        .sort(),
    );
  });

  await t.test('the bucket holds the same files as a folder', async (t) => {
    const folder = join(await temporaryFolder(t), 'export');
    const exported = await run('cli/export.ts', [folder], fromEnv);
    t.equal(exported.status, 0, exported.stderr);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    t.strictSame(pathsOf().sort(), paths.sort());
  });

  await t.test('--again replaces an export', async (t) => {
    t.match(await run('cli/export.ts', out, fromEnv), { status: 1, stderr: /--again replaces it/ });
    await upload(from, 'new.bin', Buffer.from('new'));
    const exported = await run('cli/export.ts', [...out, '--again'], fromEnv);
    t.equal(exported.status, 0, exported.stderr);
    const verified = await run('cli/import.ts', ['--from', address, '--verify'], toEnv);
    t.match(verified, { status: 1, stdout: /new\.bin: the server has no such file/ }, verified.stderr);
  });

  await t.test('an export that has lost something, or was changed, is refused', async (t) => {
    const client = sdkClient(stub);
    t.teardown(() => client.destroy());
    const sluice = await sluiceFor(t);
    const third = await environmentOf(sluice, stub);
    const large = stub.objects().find(({ size }) => size === 17 * megabyte);
    const [Bucket, Key] = [stub.bucket, large?.key];
    const changed = Buffer.from(large?.bytes ?? []);
    changed[17 * megabyte - 1] = 0;
    await client.send(new PutObjectCommand({ Bucket, Key, Body: changed }));
    t.match(await run('cli/import.ts', ['--from', address], third), {
      status: 1,
      stderr: /large\.bin is damaged: its SHA-256 does not match done\.ndjson/,
    });
    const { baseUrl, token } = sluice;
    const stored = (await call({ baseUrl, token, path: '/_f_/shop?limit=100' })).body.files as ListedFile[];
    t.notOk(stored.some(({ size }) => size === 17 * megabyte));
    await client.send(new DeleteObjectCommand({ Bucket, Key }));
    t.match(await run('cli/import.ts', ['--from', address], third), {
      status: 1,
      stderr: /large\.bin is missing, or its size has changed/,
    });
    const records = pathsOf().filter((path) => path.endsWith('records.parquet'));
    await client.send(new DeleteObjectCommand({ Bucket, Key: `nightly/2026-11-30/${records.at(-1)}` }));
    t.match(await run('cli/import.ts', ['--from', address], third), {
      status: 1,
      stderr: /records\.parquet is missing/,
    });
  });

  await t.test('a wrong address, bucket or key is named', async (t) => {
    const wrong = (change: Record<string, string>, to = address) =>
      run('cli/export.ts', ['--to', to], { ...fromEnv, ...change });
    t.match(await wrong({ S3_SECRET_ACCESS_KEY: 'x' }), {
      status: 1,
      stderr: /^sluice: s3:\/\/.*: S3 refuses the secret key: check S3_SECRET_ACCESS_KEY$/m,
    });
    t.match(await wrong({}, 's3://other-bucket/x'), {
      status: 1,
      stderr: /^sluice: s3:\/\/other-bucket\/x: the bucket does not exist$/m,
    });
    t.match(await wrong({ S3_REGION: 'Not a region' }), { status: 1, stderr: /S3_REGION/ });
    for (const bad of [
      'bucket/x',
      's3://',
      's3://b/x',
      's3://bucket',
      's3://bucket/',
      's3://bucket/../x',
      's3://bucket/a//b',
    ])
      t.match(await wrong({}, bad), { status: 1, stderr: /is not an address such as/ });
    t.match(await run('cli/export.ts', [address], fromEnv), { status: 1, stderr: /write it after --to/ });
    t.match(await run('cli/import.ts', ['x', '--from', address], toEnv), {
      status: 1,
      stderr: /either FOLDER or --from is expected/,
    });
    const client = sdkClient(stub);
    t.teardown(() => client.destroy());
    await client.send(new PutObjectCommand({ Bucket: stub.bucket, Key: 'other/thing', Body: 'x' }));
    t.match(await wrong({}, `s3://${stub.bucket}/other`), {
      status: 1,
      stderr: /neither empty nor an export/,
    });
  });
});
