import { readdirSync, readFileSync } from 'node:fs';

/** Units of /proc/<pid>/task/<tid>/stat in a second, on every Linux that Node runs on. */
const ticksPerSecond = 100;

export interface ThreadUsage {
  /** CPU-seconds of the thread that runs JavaScript. */
  readonly main: number;
  /** Of all others: the engine in the process, the thread pool, the garbage collector. */
  readonly others: number;
}

/** CPU time of a process so far, user and system, in seconds. Threads that ended meanwhile are in none of the two. */
export function threadUsage(pid: number): ThreadUsage {
  let main = 0;
  let others = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const seconds = secondsOf(`/proc/${pid}/task/${tid}/stat`);
    if (Number(tid) === pid) main += seconds;
    else others += seconds;
  }
  return { main, others };
}

function secondsOf(path: string): number {
  let stat: string;
  try {
    stat = readFileSync(path, 'latin1');
  } catch {
    // a thread that ended since the listing
    return 0;
  }
  // proc(5): the name is in parentheses and may hold anything; utime and stime are fields 14 and 15
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
