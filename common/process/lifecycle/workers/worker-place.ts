import { parseArgs } from 'node:util';
import { createPeer, type Peer } from './peer.ts';

/** The place of a process among several workers. */
export interface WorkerPlace {
  /** 1 for the first. */
  readonly index: number;
  /** The port of all workers. */
  readonly port: number;
  readonly supervisor: Peer;
}

export function workerArguments({ index, port }: Pick<WorkerPlace, 'index' | 'port'>): string[] {
  return [`--worker=${index}`, `--port=${port}`];
}

/** null: this process is not a worker. Throws if it wasn't started by a supervisor. */
export function workerPlace(args: readonly string[]): WorkerPlace | null {
  const { values } = parseArgs({
    args: [...args],
    options: { worker: { type: 'string' }, port: { type: 'string' } },
  });
  if (values.worker === undefined) return null;
  if (process.send === undefined) throw new Error('--worker is only for processes that a supervisor starts');
  const supervisor = createPeer(process as Parameters<typeof createPeer>[0]);
  return { index: Number(values.worker), port: Number(values.port), supervisor };
}
