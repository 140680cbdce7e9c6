/** A backup to and from a real S3 server. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { OpenUpload } from '#objects/object-store.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { openTestedStore, testedPlace, testedS3 } from '../services/tested-s3.ts';
import { filledServer, transferEnvironment } from '../services/transfer-project.ts';

t.test('a project moves through a bucket, which keeps nothing else', async (t) => {
  const { S3_BUCKET: _, ...bucket } = testedS3;
  const prefix = `backup-${randomBytes(6).toString('hex')}`;
  const address = `s3://${testedPlace().bucket}/${prefix}`;
  const [from, to] = [await filledServer(t), await sluiceFor(t)];
  const [fromEnv, toEnv] = [await transferEnvironment(from, bucket), await transferEnvironment(to, bucket)];
  for (const again of [[], ['--again']]) {
    const exported = await runToEnd('cli/export.ts', ['--to', address, ...again], fromEnv);
    t.equal(exported.status, 0, exported.stderr);
  }
  for (const args of [[], ['--verify']]) {
    const imported = await runToEnd('cli/import.ts', ['--from', address, ...args], toEnv);
    t.match(imported, { status: 0, stdout: '' }, imported.stdout + imported.stderr);
  }
  const store = openTestedStore();
  t.teardown(() => store.close());
  const { signal } = new AbortController();
  const uploads: OpenUpload[] = [];
  for await (const upload of store.listOpenUploads(signal)) uploads.push(upload);
  t.strictSame(
    uploads.filter(({ key }) => key.startsWith(prefix)),
    [],
  );
});
