import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SeenStatement } from './chdb-http-server.ts';
import type { Fault } from './chdb-server/fault.ts';
import { loadTypescript } from './load-typescript.ts';
import { watchChild } from './watch-child.ts';

/** A server of chdb-http-server.ts in a process of its own. */
export interface ChdbServer {
  readonly url: string;
  readonly dataDir: string;
  fault(fault: Fault): Promise<void>;
  /** Ends all faults, and forgets what was seen. */
  clear(): Promise<void>;
  /** Lets what is held go on. */
  release(): Promise<void>;
  /** Resolves when so many statements are held. */
  untilHeld(count: number): Promise<void>;
  seen(): Promise<readonly SeenStatement[]>;
  /** SIGKILL; the data stays. */
  kill(): Promise<void>;
  /** Starts it anew on the same data, at the same address. */
  restart(): Promise<ChdbServer>;
  /** SIGKILL, and removes the data. */
  close(): Promise<void>;
}

export interface ChdbServerOptions {
  readonly dataDir?: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
  /** Milliseconds after which it closes an unused connection. */
  readonly keepAliveTimeout?: number;
  /** It stands for a cluster of this name, which is itself (chdb-server/one-node-cluster.ts). */
  readonly cluster?: string;
  /** Of the cluster; absent: one. With more there are only plans. */
  readonly shards?: number;
  /** Folder into which `BACKUP ... TO File` may write. */
  readonly backups?: string;
  /** Statements with equal settings that it runs at once; absent: 8. */
  readonly sessions?: number;
}

export async function startChdbServer(options: ChdbServerOptions = {}): Promise<ChdbServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'sluice-chdb-server-')));
  const settings = { keepAliveTimeout: 10_000, port: 0, ...options, path: join(dataDir, 'chdb') };
  const script = join(import.meta.dirname, 'chdb-http-server.ts');
  const child = spawn(process.execPath, [...loadTypescript, script, JSON.stringify(settings)], {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), UV_THREADPOOL_SIZE: '16' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const watched = watchChild(child, 'the chDB server');
  const [, url = ''] = await watched.untilWritten(/^listening on (\S+)$/m);
  const kill = async (): Promise<void> => void (await watched.end('SIGKILL'));
  const control = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/-/${path}`, { method: 'POST', body: JSON.stringify(body ?? null) });
    return response.json();
  };
  return {
    url,
    dataDir,
    kill,
    fault: async (fault) => void (await control('fault', fault)),
    clear: async () => void (await control('clear')),
    release: async () => void (await control('release')),
    async untilHeld(count) {
      while (((await control('held')) as number) < count) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    seen: async () => (await control('seen')) as SeenStatement[],
    async restart() {
      await kill();
      return startChdbServer({ ...options, dataDir, port: Number(new URL(url).port) });
    },
    async close() {
      await kill();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
