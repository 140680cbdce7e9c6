import { startCeph } from './ceph.ts';
import { testedVariables } from './tested-s3.ts';
import { startVersity } from './versity.ts';

/** A real S3 server on loopback, with a bucket: the variables by which a process of ours stores there. */
export interface S3Server {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** One as tests of test/s3-servers find it. Null: NOT TESTED, and a line has said why. */
export async function startS3Server(name: 'ceph' | 'versity'): Promise<S3Server | null> {
  const server =
    name === 'versity'
      ? await startVersity()
      : await startCeph({ onLog: (text) => void process.stderr.write(text) });
  if (server === null) {
    process.stderr.write('NOT TESTED against Versity: it takes Go on the PATH to compile it.\n');
    return null;
  }
  return { env: testedVariables(server.env), stop: () => server.stop() };
}
