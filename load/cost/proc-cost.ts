import { readdir, readFile } from 'node:fs/promises';
import type { ReadCost, Reading } from './reading.ts';

/** Ticks of a second in /proc: USER_HZ, which is 100 on every architecture that Node runs on. */
const ticksPerSecond = 100;

/**
 * CPU and memory of a process and of those that it started, from /proc (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
 * A process that ended counts once its parent has waited for it.
 */
export function procCost(pid: number): ReadCost {
  let startTime: string | undefined;
  return async () => {
    const own = await readStat(pid);
    // the number may be somebody else's by now
    if (own === null || (startTime ?? own.startTime) !== own.startTime)
      throw new Error(`there is no process ${pid}`);
    startTime = own.startTime;
    const others = await Promise.all((await childrenOf(pid)).map(readTree));
    return sumOf([own, ...others]);
  };
}

async function readTree(pid: number): Promise<Reading> {
  const own = await readStat(pid);
  // it ended meanwhile
  if (own === null) return { cpu: 0, memory: 0 };
  return sumOf([own, ...(await Promise.all((await childrenOf(pid)).map(readTree)))]);
}

/** Null: there is no such process. */
async function readStat(pid: number): Promise<(Reading & { readonly startTime: string }) | null> {
  const [stat, status] = await Promise.all([read(`/proc/${pid}/stat`), read(`/proc/${pid}/status`)]);
  // the name of the program, in parentheses, may have any character
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [startTime] = fields.slice(19);
  if (startTime === undefined) return null;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  return { cpu: ticks / ticksPerSecond, memory: kibibytes * 1024, startTime };
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(' ').filter((text) => text !== '')).map(Number);
}

/** Empty: it is gone. */
function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

function sumOf(readings: readonly Reading[]): Reading {
  let [cpu, memory] = [0, 0];
  for (const reading of readings) {
    cpu += reading.cpu;
    memory += reading.memory;
  }
  return { cpu, memory };
}
