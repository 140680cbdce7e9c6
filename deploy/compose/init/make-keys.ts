import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

export interface KeySettings {
  /** Gets a folder for each service: sluice (both of ours), gateway, clickhouse, valkey, s3, tls. */
  readonly folder: string;
  /** The name or address that clients use. */
  readonly host: string;
  readonly bucket: string;
}

/** Days of the certificate's validity: the most that Apple's clients accept. */
const certificateDays = 825;

/**
 * Makes the passwords and keys of docker-compose.yml, and a self-signed certificate. Returns false and changes nothing if
 * they exist. Each service mounts only its own folder, so its files may be world-readable.
 */
export async function makeKeys({ folder, host, bucket }: KeySettings): Promise<boolean> {
  // written last: if it exists, all files exist
  const mark = join(folder, 'sluice', 'sluice.env');
  if (await exists(mark)) return false;
  const secret = () => randomBytes(32).toString('hex');
  const [clickhouse, valkey, login] = [secret(), secret(), secret()];
  const own = { accessKey: randomBytes(10).toString('hex').toUpperCase(), secretKey: secret() };
  const admin = { accessKey: randomBytes(10).toString('hex').toUpperCase(), secretKey: secret() };

  await write(join(folder, 'clickhouse', 'clickhouse.env'), [
    `SLUICE_PASSWORD_SHA256=${createHash('sha256').update(clickhouse).digest('hex')}`,
  ]);
  await write(join(folder, 'valkey', 'valkey.conf'), [`requirepass ${valkey}`]);
  await write(join(folder, 's3', 's3.json'), [JSON.stringify(identities(own, admin, bucket), null, 2)]);
  await write(join(folder, 'tls', 'sluice.pem'), [await certificate(join(folder, 'tls'), host)]);
  await write(join(folder, 'gateway', 'gateway.env'), [
    `S3_ACCESS_KEY_ID=${own.accessKey}`,
    `S3_SECRET_ACCESS_KEY=${own.secretKey}`,
  ]);
  await write(mark, [
    `CLICKHOUSE_PASSWORD=${clickhouse}`,
    `REDIS_URL=redis://:${valkey}@valkey:6379/0`,
    `LOGIN_TOKEN_SECRET=${login}`,
  ]);
  return true;
}

interface KeyPair {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** https://github.com/seaweedfs/seaweedfs/wiki/Amazon-S3-API: the gateways may use their bucket, but not create others. */
function identities(own: KeyPair, admin: KeyPair, bucket: string): object {
  return {
    identities: [
      { name: 'admin', credentials: [admin], actions: ['Admin'] },
      {
        name: 'sluice',
        credentials: [own],
        actions: ['Read', 'Write', 'List', 'Tagging'].map((action) => `${action}:${bucket}`),
      },
    ],
  };
}

/** The key and the certificate in one file, as HAProxy expects them. */
async function certificate(folder: string, host: string): Promise<string> {
  const names = new Set(['DNS:localhost', 'IP:127.0.0.1', `${isIP(host) > 0 ? 'IP' : 'DNS'}:${host}`]);
  const keyFile = join(folder, 'key.new');
  await mkdir(folder, { recursive: true });
  try {
    const { stdout } = await promisify(execFile)('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-noenc',
      '-days',
      `${certificateDays}`,
      '-subj',
      '/CN=Sluice',
      '-addext',
      `subjectAltName=${[...names].join(',')}`,
      '-keyout',
      keyFile,
    ]);
    return (await readFile(keyFile, 'utf8')) + stdout;
  } finally {
    await rm(keyFile, { force: true });
  }
}

async function write(path: string, lines: readonly string[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.new`;
  await writeFile(unfinished, `${lines.join('\n')}\n`);
  // the image of the service decides its user
  await chmod(unfinished, 0o444);
  await rename(unfinished, path);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { SLUICE_HOST, KEYS_DIR, S3_BUCKET } = process.env;
  const made = await makeKeys({
    folder: KEYS_DIR || '/keys',
    host: SLUICE_HOST || 'localhost',
    bucket: S3_BUCKET || 'sluice-files',
  });
  process.stdout.write(made ? 'keys and certificate made\n' : 'keys and certificate are there\n');
}
