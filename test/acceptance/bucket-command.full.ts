/** `npm run -s sluice -- bucket`, against the stub, which enforces some things and knows no CORS. */
import { once } from 'node:events';
import t from 'tap';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { runScript, runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { watchChild } from '../services/watch-child.ts';

const stub = await startS3Stub({ ignores: ['if-none-match'] });
t.teardown(() => stub.close());
const settings = stubSettings(stub);
const page = ['--origin', 'https://app.example.com'];

t.test('says what is missing, ends with 1, and leaves nothing', async (t) => {
  const env = { ...settings, DATA_DIR: await temporaryFolder(t) };
  const { status, stdout } = await runToEnd('cli/bucket.ts', ['--check', '--fix', ...page], env);
  t.equal(status, 1);
  t.match(stdout, `Bucket ${stub.bucket} at ${stub.endpoint}\n`);
  t.match(stdout, '! the preflight of a PUT is refused (501)');
  t.match(stdout, /has no requests for CORS \(501 NotImplemented\)/);
  t.match(stdout, /\{"CORSRules":\[\{.*"AllowedOrigins":\["https:\/\/app\.example\.com"\]/);
  t.match(stdout, /^address with another key +refused \(403 SignatureDoesNotMatch\) +addresses hold$/m);
  t.match(stdout, /^ListParts shows the CRC-32C +no +nothing relies on it$/m);
  t.match(stdout, /^Something is missing that could not be set/m);
  t.strictSame(stub.objects(), []);
  t.strictSame(stub.openUploads(), []);
});

t.test('beside a running server, it uses keys of its deployment', async (t) => {
  const sluice = await sluiceFor(t, { env: settings });
  const env = { ...settings, DATA_DIR: sluice.dataDir, PUBLIC_URL: 'https://files.example.com' };
  const { status, stdout, stderr } = await runToEnd('cli/bucket.ts', [], env);
  t.equal(status, 0, `without --check a report is no failure: ${stderr}`);
  t.match(stdout, 'CORS for https://files.example.com:\n');
  t.strictSame(stub.openUploads(), []);
});

t.test('an interrupted check removes what it stored', async (t) => {
  const held = stub.fault({ operation: 'UploadPart', action: { kind: 'hang' } });
  const env = { ...settings, DATA_DIR: await temporaryFolder(t) };
  const child = runScript('cli/bucket.ts', page, env);
  const { output, untilReady } = watchChild(child, 'cli/bucket.ts');
  await untilReady(async () => held.seen > 0);
  t.ok(stub.objects().length > 0 && stub.openUploads().length > 0);
  child.kill('SIGINT');
  const [status] = (await once(child, 'close')) as [number | null];
  held.remove();
  t.equal(status, 1);
  t.match(output.stderr, 'stopped: what it had stored is removed');
  t.strictSame([...stub.objects(), ...stub.openUploads()], []);
});

t.test('says which settings are missing', async (t) => {
  const env = { DATA_DIR: await temporaryFolder(t) };
  t.match(await runToEnd('cli/bucket.ts', ['--check'], env), { status: 1, stderr: /S3_BUCKET is not set/ });
  t.match(await runToEnd('cli/bucket.ts', ['--check'], { ...env, ...settings }), {
    status: 1,
    stderr: /--origin/,
  });
  t.match(await runToEnd('cli/bucket.ts', ['--origin', 'app.example.com'], { ...env, ...settings }), {
    status: 1,
    stderr: /should be an origin/,
  });
  const away = { ...env, ...settings, S3_PUBLIC_ENDPOINT: 'http://127.0.0.1:1' };
  t.match(await runToEnd('cli/bucket.ts', page, away), {
    status: 1,
    stderr: /http:\/\/127\.0\.0\.1:1 can’t be reached from here/,
  });
  const wrong = { ...env, ...settings, S3_SECRET_ACCESS_KEY: 'wrong' };
  t.match(await runToEnd('cli/bucket.ts', page, wrong), { status: 1, stderr: /S3_SECRET_ACCESS_KEY/ });
});
