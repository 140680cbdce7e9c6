import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Units of /proc/<pid>/stat per second. */
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/**
 * CPU time that the processes have used so far, user and system, all threads, in seconds. The kernel counts in
 * steps of 10 ms, so a measurement should take at least a second.
 */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + secondsOf(`/proc/${pid}/stat`), 0);
}

export interface ThreadUsage {
  /** CPU-seconds of the thread that runs JavaScript. */
  readonly main: number;
  /** CPU-seconds of all other threads: the embedded engine, the thread pool, the garbage collector. */
  readonly others: number;
}

/** CPU time of a process so far, by thread. Threads that have ended are not included. */
export function threadUsage(pid: number): ThreadUsage {
  let others = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    if (Number(tid) === pid) continue;
    try {
      others += secondsOf(`/proc/${pid}/task/${tid}/stat`);
    } catch {
      // a thread that ended since the listing
    }
  }
  return { main: secondsOf(`/proc/${pid}/task/${pid}/stat`), others };
}

function secondsOf(path: string): number {
  const stat = readFileSync(path, 'latin1');
  // proc(5): the command's name is in parentheses and may hold anything; utime and stime are fields 14 and 15
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of the processes in bytes. */
export function residentBytes(pids: readonly number[]): number {
  return sumOfField(pids, 'VmRSS');
}

/** The kernel's own record of the most resident memory since `forgetPeak`, in bytes. */
export function peakResidentBytes(pids: readonly number[]): number {
  return sumOfField(pids, 'VmHWM');
}

/** Resets VmHWM to the current resident size (proc(5), clear_refs). */
export function forgetPeak(pids: readonly number[]): void {
  for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Direct children, such as the workers of nginx. */
export function childPids(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function sumOfField(pids: readonly number[], field: 'VmRSS' | 'VmHWM'): number {
  let bytes = 0;
  for (const pid of pids) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    bytes += Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  }
  return bytes;
}
