import type { LoadMessage } from '../harness/load-process.ts';

export interface PreparedLoad<Result> {
  /** @param stopped ends a load that has no end of its own */
  run(reached: (point: string) => void, stopped: Promise<void>): Promise<Result>;
}

/** The other end of `prepareLoad`: takes one job, prepares it, waits for `go`, and reports the result. */
export function serveJob<Job, Result>(prepare: (job: Job) => Promise<PreparedLoad<Result>>): void {
  const tell = (message: LoadMessage<Result>): void => void process.send?.(message);
  const fail = (error: unknown): void =>
    tell({
      type: 'failed',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  let prepared: PreparedLoad<Result> | null = null;
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  process.on('message', (message: { type: 'job'; job: Job } | { type: 'go' } | { type: 'stop' }) => {
    if (message.type === 'job') {
      prepare(message.job).then((ready) => {
        prepared = ready;
        tell({ type: 'ready' });
      }, fail);
    } else if (message.type === 'stop') stop();
    else {
      prepared
        ?.run((point) => tell({ type: 'reached', point }), stopped)
        .then((result) => tell({ type: 'done', result }), fail);
    }
  });
  process.once('disconnect', () => process.exit());
  process.stdout.write('load waits\n');
}
