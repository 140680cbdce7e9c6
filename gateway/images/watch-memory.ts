import { readFileSync } from 'node:fs';

/** Milliseconds between two looks. A decoder fills some 100 MB meanwhile at most. */
const every = 50;
/** Of /proc/PID/stat, on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Resident bytes of a process; 0: unknown, as on systems without /proc. */
export function residentBytes(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readProcess(pid, 'status'))?.[1] ?? 0) * 1024;
}

/** Seconds that a process has computed; 0: unknown. */
export function cpuSeconds(pid: number | undefined): number {
  const text = readProcess(pid, 'stat');
  // proc_pid_stat(5): the second field is a name, which may have spaces; utime and stime are the 14th and 15th
  const [user = 0, system = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / ticksPerSecond;
}

/** Calls `onTooMuch` once a process takes more memory than it may. @returns a function that ends the watch */
export function watchMemory(pid: number | undefined, limit: number, onTooMuch: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) > limit) onTooMuch();
  }, every);
  timer.unref();
  return () => clearInterval(timer);
}

/** Read at once: these files are in memory, and four calls in the thread pool take three times as long. */
function readProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
