import { parseArgs } from 'node:util';

/** What the supervisor tells a worker on its command line. */
export interface WorkerArguments {
  /** 1 for the first. */
  readonly index: number;
  /** Where all workers listen. */
  readonly port: number;
}

export function writeWorkerArguments({ index, port }: WorkerArguments): string[] {
  return [`--worker=${index}`, `--port=${port}`];
}

/** null: this process is no worker. */
export function readWorkerArguments(args: readonly string[]): WorkerArguments | null {
  const { values } = parseArgs({
    args: [...args],
    options: { worker: { type: 'string' }, port: { type: 'string' } },
  });
  if (values.worker === undefined) return null;
  return { index: Number(values.worker), port: Number(values.port) };
}
