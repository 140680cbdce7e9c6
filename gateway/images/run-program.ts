import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { invalidImage } from '#kernel/errors/catalogue.ts';
import { watchMemory } from './watch-memory.ts';

export interface ProgramLimits {
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Bytes, resident. */
  readonly memoryLimit: number;
}

/** Of what a program prints. Bytes. */
const mostOutput = 64 * 1024;
/** Of `nice`: requests go first. */
const niceness = 10;

/**
 * Runs a program without our environment, and resolves with what it prints. Rejects with a 422 when it fails, or exceeds a
 * limit, and with the signal's reason.
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  { timeLimit, memoryLimit }: ProgramLimits,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  let killedFor: Error | null = null;
  const kill = (reason: Error): void => {
    killedFor ??= reason;
    child.kill('SIGKILL');
  };
  const onAbort = (): void => kill(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  const late = setTimeout(() => kill(invalidImage(`it takes longer than ${timeLimit / 1000} s`)), timeLimit);
  const endWatch = watchMemory(child.pid, memoryLimit, () =>
    kill(invalidImage(`it takes more than ${memoryLimit} bytes of memory`)),
  );
  try {
    if (child.pid !== undefined) lower(child.pid);
    const printed: Buffer[] = [];
    const words: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => gather(printed, chunk));
    child.stderr.on('data', (chunk: Buffer) => gather(words, chunk));
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (killedFor !== null) throw killedFor;
    if (status !== 0)
      throw invalidImage(
        'it is damaged, or no video that can be read',
        new Error(Buffer.concat(words).toString()),
      );
    return Buffer.concat(printed).toString('utf8');
  } finally {
    clearTimeout(late);
    endWatch();
    signal.removeEventListener('abort', onAbort);
  }
}

function gather(chunks: Buffer[], chunk: Buffer): void {
  const bytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (bytes < mostOutput) chunks.push(chunk);
}

function lower(pid: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // it has ended already
  }
}
