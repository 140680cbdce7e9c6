import { readFile } from 'node:fs/promises';

/** Milliseconds between two looks. A decoder fills some 100 MB meanwhile at most. */
const every = 50;

/** Resident bytes of a process; 0: unknown, as on systems without /proc. */
export async function residentBytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Calls `onTooMuch` once a process takes more memory than it may. @returns a function that ends the watch */
export function watchMemory(pid: number | undefined, limit: number, onTooMuch: () => void): () => void {
  const timer = setInterval(async () => {
    if ((await residentBytes(pid)) > limit) onTooMuch();
  }, every);
  timer.unref();
  return () => clearInterval(timer);
}
