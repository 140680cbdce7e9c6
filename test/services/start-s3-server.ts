import { startCeph } from './ceph.ts';
import { startVersity } from './versity.ts';

/** A real S3 server as tests of test/s3-servers find it: by variables. Null: NOT TESTED, and a line has said why. */
export async function startS3Server(
  name: 'ceph' | 'versity',
): Promise<{ readonly env: Readonly<Record<string, string>>; stop(): Promise<void> } | null> {
  const server =
    name === 'versity'
      ? await startVersity()
      : await startCeph({ onLog: (text) => void process.stderr.write(text) });
  if (server === null) {
    process.stderr.write('NOT TESTED against Versity: it takes Go on the PATH to compile it.\n');
    return null;
  }
  const env = {
    S3_TEST_ENDPOINT: server.endpoint,
    S3_TEST_BUCKET: server.bucket,
    S3_TEST_REGION: server.region,
    S3_TEST_ACCESS_KEY_ID: server.accessKeyId,
    S3_TEST_SECRET_ACCESS_KEY: server.secretAccessKey,
  };
  return { env, stop: () => server.stop() };
}
