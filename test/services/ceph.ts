import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { freePorts } from './free-port.ts';
import type { S3Server } from './start-s3-server.ts';

const up = join(import.meta.dirname, 'ceph-up.sh');
const down = join(import.meta.dirname, 'ceph-down.sh');

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
): Promise<S3Server> {
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

  return {
    env: parseEnv(stdout) as Record<string, string>,
    async stop() {
      process.off('exit', stopWithUs);
      const [status] = await once(spawn(down, { env, stdio: ['ignore', 'ignore', 'inherit'] }), 'close');
      if (status !== 0) throw new Error(`ceph-down.sh ended with ${status}`);
    },
  };
}
