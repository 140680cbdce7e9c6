import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { watchChild } from './watch-child.ts';

/** The configuration that docker-compose.yml mounts. */
export const haproxyFile = join(import.meta.dirname, '../../deploy/compose/load-balancer/haproxy.cfg');

export interface HaproxyArgs {
  /** Certificate and key in one file. */
  readonly certificate: string;
  readonly port: number;
  readonly healthPort: number;
  /** name:port; the name server knows the addresses. */
  readonly gateways: string;
  readonly queries: string;
  /** Absent: there is no dashboard. */
  readonly consoles?: string;
  readonly nameServerPort: number;
}

/** Throws where there is no HAProxy, so that no test passes without it. */
export function requireHaproxy(): void {
  if (spawnSync('haproxy', ['-v']).status !== 0) {
    throw new Error('haproxy is not installed: apt-get install --no-install-recommends haproxy');
  }
}

/** The environment of a process that reads the configuration. */
export function haproxyEnv(args: HaproxyArgs): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    GATEWAYS: args.gateways,
    QUERIES: args.queries,
    CONSOLES: args.consoles ?? 'console:8080',
    CERTIFICATE: args.certificate,
    LISTEN: `127.0.0.1:${args.port}`,
    HEALTH: `127.0.0.1:${args.healthPort}`,
    RESOLVER: `127.0.0.1:${args.nameServerPort}`,
    MAX_CONNECTIONS: '1000',
  };
}

/** Runs HAProxy with the configuration of the deployment, as it is. */
export async function startHaproxy(args: HaproxyArgs) {
  requireHaproxy();
  const child = spawn('haproxy', ['-W', '-db', '-f', haproxyFile], {
    env: haproxyEnv(args),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { output, end, untilReady } = watchChild(child, 'HAProxy');
  await untilReady(async () => (await fetch(`http://127.0.0.1:${args.healthPort}/healthz`)).status === 200);
  return {
    process: child,
    /** The lines of its log so far. */
    log: () => output.both,
    stop: async () => void (await end('SIGTERM')),
  };
}
