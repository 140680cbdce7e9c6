import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';

/** The machine of the measurement. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly system: string;
  readonly kernel: string;
  readonly node: string;
  /** The load average of the last minute before the run: other work distorts the figures. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: systemName(),
    kernel: `${type()} ${release().split('.', 2).join('.')}`,
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function machineLine(machine: Machine): string {
  const { cores, processor, memoryGiB, system, kernel, node, loadBefore } = machine;
  return `${cores} cores (${processor}), ${memoryGiB} GiB, ${system}, ${kernel}, Node ${node}; load before: ${loadBefore.toFixed(2)}`;
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}
