import type { Sluice } from './start-sluice.ts';

/** Process ids of the workers that a supervisor's log tells of, by worker; the latest of each. */
export function workerPids(supervisor: Pick<Sluice, 'stderr'>): Map<number, number> {
  const pids = new Map<number, number>();
  for (const line of supervisor.stderr().split('\n')) {
    if (!line.includes('"a worker listens"')) continue;
    const { worker, workerPid } = JSON.parse(line) as { worker: number; workerPid: number };
    pids.set(worker, workerPid);
  }
  return pids;
}

/** Whether there is a process, even one that its parent has yet to look after. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the condition holds; the test's own deadline ends it when it never does. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}
