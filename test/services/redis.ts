import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisConfigOf } from '#kernel/config/read-redis.ts';
import { freePorts } from './free-port.ts';
import { tiedCommand } from './tied-command.ts';
import { type WatchedChild, watchChild } from './watch-child.ts';

/** A real redis-server on loopback, without persistence. */
export interface RedisServer {
  readonly config: RedisConfigOf<'standalone'>;
  readonly url: string;
  /** SIGKILL: what it knew is gone. */
  kill(): Promise<void>;
  /** After `kill`: again on the same port, and empty. */
  start(): Promise<void>;
  /** It takes connections and bytes, and does nothing with them. */
  pause(): void;
  resume(): void;
  /** One command of an operator, over a connection of its own. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * Starts the redis-server of the system: throws where there is none, so that no test passes without it. It ends with
 * this process. @param options further arguments, such as a password
 */
export async function startRedis(
  options: { args?: readonly string[]; password?: string; username?: string } = {},
): Promise<RedisServer> {
  const { args = [], password, username } = options;
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    throw new Error('redis-server is not installed: apt-get install --no-install-recommends redis-server');
  }
  const port = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'));
  const config = {
    mode: 'standalone' as const,
    host: '127.0.0.1',
    port,
    tls: false,
    ca: undefined,
    username,
    password,
    db: 0,
  };
  let child: WatchedChild | null = null;

  const admin = (): Redis =>
    new Redis({
      host: '127.0.0.1',
      port,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      lazyConnect: true,
      retryStrategy: () => null,
    }).on('error', () => {});

  const command = async (name: string, ...values: (string | number)[]): Promise<unknown> => {
    const client = admin();
    try {
      await client.connect();
      return await client.call(name, ...values);
    } finally {
      client.disconnect();
    }
  };

  const kill = async (): Promise<void> => {
    await child?.end('SIGKILL');
    child = null;
  };

  const start = async (): Promise<void> => {
    const server = [
      ...['redis-server', '--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      ...['--dir', folder, ...args],
    ];
    const started = watchChild(
      spawn(...tiedCommand(server), { stdio: ['ignore', 'pipe', 'pipe'] }),
      'redis-server',
    );
    child = started;
    await started.untilReady(async () => {
      const [, pid] = /process_id:(\d+)/.exec(String(await command('INFO', 'server'))) ?? [];
      // and not somebody else's on that port
      return pid === `${started.process.pid}`;
    });
  };

  await start();
  const user = password === undefined ? '' : `${username ?? ''}:${encodeURIComponent(password)}@`;
  return {
    config,
    url: `redis://${user}127.0.0.1:${port}`,
    kill,
    start,
    pause: () => void child?.process.kill('SIGSTOP'),
    resume: () => void child?.process.kill('SIGCONT'),
    command,
    async stop() {
      child?.process.kill('SIGCONT');
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
