import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programArgs } from '../../../test/services/built.ts';

export const repositoryRoot = join(import.meta.dirname, '../../..');

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** What the group of `ready` matched, such as an address. */
  readonly ready: string;
  /** Sends SIGTERM, and SIGKILL if that does not help; resolves once the process is gone. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory: the root of this checkout, or of another. */
  readonly root?: string;
  /** The child is ready as soon as its standard output matches; null: at once. */
  readonly ready: RegExp | null;
  /** Opens a message channel; the child sees it close when this process dies. */
  readonly ipc?: boolean;
  /** The signal for the child if this process ends first; by default SIGKILL. */
  readonly lastSignal?: NodeJS.Signals;
}

const startTimeout = 60_000;
const stopTimeout = 20_000;
const running = new Map<ChildProcess, NodeJS.Signals>();

// however this process ends, no child is left behind
process.once('exit', () => {
  for (const [child, signal] of running) child.kill(signal);
});

/** Starts a program with a clean environment and waits until it is ready. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const child = spawn(options.command, options.args, {
    cwd: options.root ?? repositoryRoot,
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', ...(options.ipc ? (['ipc'] as const) : [])],
  });
  running.set(child, options.lastSignal ?? 'SIGKILL');
  const gone = once(child, 'close').finally(() => running.delete(child));
  // a missing program is reported below; this only prevents an unhandled error
  gone.catch(() => {});
  const ready = await whenReady(child, options);
  return {
    pid: child.pid as number,
    process: child,
    ready,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeout);
      await gone;
      clearTimeout(timer);
    },
  };
}

/** Starts a TypeScript file of this repository like the project's own scripts. */
export function startScript(
  script: string,
  options: Omit<ChildOptions, 'command' | 'args'> & {
    readonly args?: readonly string[];
    /** Modules that run before the script. */
    readonly preload?: readonly string[];
  },
): Promise<Child> {
  const { root = repositoryRoot, preload = [], args = [] } = options;
  const preloads = preload.flatMap((module) => ['--import', module]);
  const isProgram = preload.length === 0 && !script.startsWith('bench/');
  const program = isProgram ? argsOf(script, root) : ['--import', 'tsx', ...preloads, script];
  return startChild({ ...options, command: process.execPath, args: [...program, ...args] });
}

/** The arguments of node for a program of a checkout; the tests use compiled programs of this checkout. */
export function argsOf(script: string, root: string): readonly string[] {
  return root === repositoryRoot ? programArgs(script) : ['--import', 'tsx', script];
}

function whenReady(child: ChildProcess, { command, args, ready }: ChildOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    const fail = (reason: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${command} ${args.join(' ')}: ${reason}\n${stderr}${stdout}`));
    };
    const timer = setTimeout(() => fail(`not ready after ${startTimeout} ms`), startTimeout);
    if (ready === null) {
      child.once('spawn', () => {
        clearTimeout(timer);
        resolve('');
      });
    }
    child.stderr?.on('data', (text: Buffer) => {
      stderr = (stderr + text.toString()).slice(-16_384);
    });
    child.stdout?.on('data', (text: Buffer) => {
      stdout = (stdout + text.toString()).slice(-16_384);
      const match = ready?.exec(stdout) ?? null;
      if (match === null) return;
      clearTimeout(timer);
      resolve(match[1] ?? '');
    });
    child.once('error', (error) => fail(error.message));
    child.once('close', (status, signal) => {
      clearTimeout(timer);
      fail(`ended with ${status ?? signal}`);
    });
  });
}
