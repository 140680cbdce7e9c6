import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { programArgs } from './built.ts';
import { listenForContract } from './contract-listener.ts';
import { watchChild } from './watch-child.ts';

const root = join(import.meta.dirname, '../..');

/** A server of ours in a process of its own, on a free port and a data directory of its own. */
export interface Sluice {
  readonly baseUrl: string;
  readonly token: string;
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** What the process wrote so far. */
  stdout(): string;
  stderr(): string;
  /** Resident memory in bytes. */
  rss(): Promise<number>;
  /** SIGTERM; answers the exit status once the process is gone. */
  stop(): Promise<number | null>;
  /** Waits until the process is gone, and answers its exit status. */
  ended(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same data directory; the old object is of no more use. */
  restart(env?: Record<string, string>): Promise<Sluice>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly dataDir?: string;
  /** Absent: main.ts, everything in one process. */
  readonly script?: 'main.ts' | 'query/main.ts' | 'gateway/main.ts' | 'console/main.ts';
  /** Modules that it loads before anything else. */
  readonly preloads?: readonly string[];
}

export const acceptanceToken = 'acceptance-token-0123456789abcdef';

/** Runs a script of the project with a clean environment. */
export function runScript(
  script: string,
  args: readonly string[],
  env: Record<string, string>,
  preloads: readonly string[] = [],
): ChildProcess {
  // the test runner puts itself into every Node process by this variable, and then signals do not end them as usual
  const clean = ['-u', 'NODE_OPTIONS', process.execPath];
  return spawn('env', [...clean, ...programArgs(script, preloads), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), UV_THREADPOOL_SIZE: '16', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs a script of the project to its end. */
export async function runToEnd(
  ...call: Parameters<typeof runScript>
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = runScript(...call);
  const { output } = watchChild(child, call[0]);
  // 'close', and not 'exit': all that it wrote has been read by then
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout: output.stdout, stderr: output.stderr };
}

/** `npm test` with SLUICE_TEST_CACHE=0: servers keep no records and no results, unless a test says otherwise. */
const cacheBytes = process.env.SLUICE_TEST_CACHE;
const cache: Record<string, string> = cacheBytes === undefined ? {} : { RECORD_CACHE_BYTES: cacheBytes };

/** Starts the server and waits until it listens; it is killed when the test process ends. */
export async function startSluice(options: StartOptions = {}): Promise<Sluice> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'sluice-test-')));
  const contract = await listenForContract();
  const env = { PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: acceptanceToken, ...cache, ...options.env };
  const script = options.script ?? 'main.ts';
  const child = runScript(script, [], { ...env, ...contract.env }, [
    ...contract.preloads,
    ...(options.preloads ?? []),
  ]);
  const { output, ended, end, untilWritten } = watchChild(child, script);
  // what fails there rejects for those that wait for the end
  const gone = ended.finally(() => contract.end());
  gone.catch(() => {});
  const [, baseUrl = ''] = await untilWritten(/^Sluice listens on (\S+)$/m);

  return {
    baseUrl,
    token: acceptanceToken,
    dataDir,
    process: child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    async rss() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
    },
    async stop() {
      await end('SIGTERM');
      return gone;
    },
    ended: () => gone,
    async kill() {
      await end('SIGKILL');
      await gone;
    },
    restart: (env) => startSluice({ ...options, dataDir, env: { ...options.env, ...env } }),
  };
}

/** The same, stopped at the end of the test, as is what it was restarted as, and its data removed. */
export async function sluiceFor(t: Pick<Test, 'teardown'>, options?: StartOptions): Promise<Sluice> {
  let last: Sluice;
  const following = (started: Sluice): Sluice => {
    last = started;
    return { ...started, restart: async (env) => following(await started.restart(env)) };
  };
  const sluice = following(await startSluice(options));
  t.teardown(async () => {
    await last.stop();
    await removeData(last);
  });
  return sluice;
}

/** Ends them, and removes what they left. */
export async function killAll(servers: readonly Sluice[]): Promise<void> {
  for (const sluice of servers) {
    await sluice.kill();
    await removeData(sluice);
  }
}

/** Removes what a stopped server left. */
export async function removeData(sluice: Sluice): Promise<void> {
  await rm(sluice.dataDir, { recursive: true, force: true });
}
