import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePorts } from './free-port.ts';

const up = join(import.meta.dirname, 'ceph-up.sh');
const down = join(import.meta.dirname, 'ceph-down.sh');

/** A real S3 server on loopback, with a bucket. */
export interface S3Server {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly bucket: string;
  readonly region: string;
  stop(): Promise<void>;
}

export interface Ceph extends S3Server {
  /** What the server of ours needs to store files here: the S3_* variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A Ceph RADOS gateway of Debian's packages, on free ports of loopback; takes about 7 s, and 30 s where the packages
 * are missing. One at a time for a checkout. It is stopped when the process ends.
 */
export async function startCeph(
  options: {
    readonly onLog?: (text: string) => void;
    /** Ends a start that is under way. */
    readonly signal?: AbortSignal;
  } = {},
): Promise<Ceph> {
  const { onLog = () => {}, signal } = options;
  const env = {
    ...process.env,
    CEPH_RGW_PORT: `${await freePorts(1)}`,
    CEPH_MON_PORT: `${await freePorts(2)}`,
  };
  const stopWithUs = (): void => void spawnSync(down, { env, stdio: 'ignore' });
  const script = spawn(up, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  script.stdout.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  script.stderr.on('data', (text: Buffer) => {
    stderr += text.toString();
    onLog(text.toString());
  });
  const stopStart = (): void => void script.kill('SIGTERM');
  signal?.addEventListener('abort', stopStart);
  const [status] = await once(script, 'close');
  signal?.removeEventListener('abort', stopStart);
  // the script cleans up after itself, and leaves an instance alone that was there before
  if (status !== 0) throw new Error(`Ceph did not start (${status}): ${stderr}`);
  process.once('exit', stopWithUs);

  const values = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  ) as Record<string, string>;
  const value = (name: string): string => {
    const text = values[name];
    if (text === undefined) throw new Error(`ceph-up.sh printed no ${name}`);
    return text;
  };
  return {
    endpoint: value('S3_ENDPOINT'),
    accessKeyId: value('S3_ACCESS_KEY_ID'),
    secretAccessKey: value('S3_SECRET_ACCESS_KEY'),
    bucket: value('S3_BUCKET'),
    region: value('S3_REGION'),
    env: values,
    async stop() {
      process.off('exit', stopWithUs);
      const [status] = await once(spawn(down, { env, stdio: ['ignore', 'ignore', 'inherit'] }), 'close');
      if (status !== 0) throw new Error(`ceph-down.sh ended with ${status}`);
    },
  };
}
