/** `npm run test:ceph` and `test:versity`: starts a real S3 server, runs tests of test/s3-servers, and stops it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startCeph } from './ceph.ts';
import { startVersity } from './versity.ts';

const folder = join(import.meta.dirname, '../s3-servers');
const [name, ...runnerArguments] = process.argv.slice(2);
if (name !== 'ceph' && name !== 'versity') throw new Error('which S3 server: ceph or versity?');
const server =
  name === 'versity'
    ? await startVersity()
    : await startCeph({ onLog: (text) => void process.stderr.write(text) });
if (server === null) {
  process.stderr.write('NOT TESTED against Versity: it takes Go on the PATH to compile it.\n');
  process.exit(0);
}
// the rest is more than Versity keeps to: docs/decisions/021-s3-servers-under-test.md
const files =
  name === 'versity'
    ? ['upload.test.ts', 'resumable.test.ts']
    : (await readdir(folder)).filter((file) => file.endsWith('.test.ts'));
const runner = join(import.meta.dirname, '../run.ts');
const tests = spawn(
  process.execPath,
  ['--import', 'tsx', runner, '--jobs=1', ...runnerArguments, ...files.map((name) => join(folder, name))],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      S3_TEST_ENDPOINT: server.endpoint,
      S3_TEST_BUCKET: server.bucket,
      S3_TEST_REGION: server.region,
      S3_TEST_ACCESS_KEY_ID: server.accessKeyId,
      S3_TEST_SECRET_ACCESS_KEY: server.secretAccessKey,
    },
  },
);
const [status] = (await once(tests, 'exit')) as [number | null];
await server.stop();
process.exitCode = status ?? 1;
