/** `npm run test:ceph`: starts a real Ceph S3, runs the tests of test/ceph against it, and stops it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startCeph } from './ceph.ts';

const folder = join(import.meta.dirname, '../ceph');
const ceph = await startCeph({ onLog: (text) => void process.stderr.write(text) });
const files = (await readdir(folder)).filter((name) => name.endsWith('.test.ts'));
const tap = spawn(
  'npx',
  [
    ...['tap', '--disable-coverage', '--jobs=1', '--timeout=600', ...process.argv.slice(2)],
    ...files.map((name) => join(folder, name)),
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      S3_TEST_ENDPOINT: ceph.endpoint,
      S3_TEST_BUCKET: ceph.bucket,
      S3_TEST_REGION: ceph.region,
      S3_TEST_ACCESS_KEY_ID: ceph.accessKeyId,
      S3_TEST_SECRET_ACCESS_KEY: ceph.secretAccessKey,
    },
  },
);
const [status] = (await once(tap, 'exit')) as [number | null];
await ceph.stop();
process.exitCode = status ?? 1;
