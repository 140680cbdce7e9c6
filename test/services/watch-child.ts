import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds that a process may take until it is ready: on one busy core a server with two workers took more than 60 s. */
const patience = 180_000;

/** A process that a test started: what it writes, and how it ends. It is killed when the process of the test ends. */
export interface WatchedChild {
  readonly process: ChildProcess;
  /** What it wrote so far; both together in the order in which it came. */
  readonly output: { readonly stdout: string; readonly stderr: string; readonly both: string };
  /** Its exit status, once it is gone. */
  readonly ended: Promise<number | null>;
  isGone(): boolean;
  /** Resolves when what it wrote to stdout matches. Rejects with all that it wrote when it ends before, or takes too long. */
  untilWritten(pattern: RegExp): Promise<RegExpExecArray>;
  /** The same for what it is to answer; a check that throws is made again. */
  untilReady(check: () => Promise<boolean>): Promise<void>;
  /** Answers its exit status; no harm is done where it is gone. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** @param name for people */
export function watchChild(child: ChildProcess, name: string): WatchedChild {
  const output = { stdout: '', stderr: '', both: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (text: Buffer) => {
      output[stream] += text.toString();
      output.both += text.toString();
    });
  }
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const ended = once(child, 'exit').then(([status]) => {
    process.off('exit', killWithUs);
    return status as number | null;
  });
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const untilReady = async (check: () => Promise<boolean>): Promise<void> => {
    const deadline = performance.now() + patience;
    while (!(await check().catch(() => false))) {
      if (isGone()) throw new Error(`${name} ended with ${child.exitCode}: ${output.both}`);
      if (performance.now() > deadline) throw new Error(`${name} was not ready in time: ${output.both}`);
      await Promise.race([sleep(20), ended]);
    }
  };
  return {
    process: child,
    output,
    ended,
    isGone,
    untilReady,
    async untilWritten(pattern) {
      let found: RegExpExecArray | null = null;
      await untilReady(async () => {
        found = pattern.exec(output.stdout);
        return found !== null;
      });
      return found as unknown as RegExpExecArray;
    },
    async end(signal) {
      if (!isGone()) child.kill(signal);
      return ended;
    },
  };
}
