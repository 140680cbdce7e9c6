import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ReadCost, Reading } from './reading.ts';

/** The same as proc-cost.ts where there is no /proc, such as on macOS. */
export function psCost(pid: number): ReadCost {
  return async (signal) => {
    const columns = ['-A', '-o', 'pid=,ppid=,rss=,time='];
    const { stdout } = await promisify(execFile)('ps', columns, { signal, maxBuffer: 2 ** 24 });
    const reading = treeOf(stdout, pid);
    if (reading === null) throw new Error(`there is no process ${pid}`);
    return reading;
  };
}

interface Row extends Reading {
  readonly pid: number;
  readonly parent: number;
}

/**
 * The process and those that it started. Null: there is no such process.
 * @param listing lines of pid, parent, KiB of memory and CPU time
 */
export function treeOf(listing: string, pid: number): Reading | null {
  const rows = listing.split('\n').flatMap(parseRow);
  if (!rows.some((row) => row.pid === pid)) return null;
  const wanted = new Set([pid]);
  for (let before = 0; before < wanted.size; ) {
    before = wanted.size;
    for (const row of rows) if (wanted.has(row.parent)) wanted.add(row.pid);
  }
  const tree = rows.filter((row) => wanted.has(row.pid));
  return {
    cpu: tree.reduce((sum, { cpu }) => sum + cpu, 0),
    memory: tree.reduce((sum, { memory }) => sum + memory, 0),
  };
}

/** CPU time is [[days-]hours:]minutes:seconds, on macOS with hundredths. */
function parseRow(line: string): Row[] {
  const [, pid, parent, memory, days = 0, hours = 0, minutes, seconds] =
    /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*$/.exec(line) ?? [];
  if (seconds === undefined) return [];
  const cpu = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return [{ pid: Number(pid), parent: Number(parent), memory: Number(memory) * 1024, cpu }];
}
