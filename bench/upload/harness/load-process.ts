import { once } from 'node:events';
import { type Child, startScript } from './child-process.ts';

/** A load generator in a separate process, so that its work is not counted as the server's. */
export interface Load<Result> {
  /** Starts the prepared load. */
  go(): void;
  /** Resolves when the load reports that it reached the point. */
  reached(point: string): Promise<void>;
  /** Ends a load without an end of its own. */
  stop(): void;
  readonly result: Promise<Result>;
}

export type LoadMessage<Result> =
  | { readonly type: 'ready' }
  | { readonly type: 'reached'; readonly point: string }
  | { readonly type: 'done'; readonly result: Result }
  | { readonly type: 'failed'; readonly message: string };

/**
 * Starts a script of bench/upload/load and gives it its job. Resolves when everything is prepared: checksums are
 * computed and connections are open, and only `go` is missing.
 */
export async function prepareLoad<Result>(script: string, job: object): Promise<Load<Result>> {
  const child = await startScript(`bench/upload/load/${script}`, { ready: /^load waits$/m, ipc: true });
  const points = new Set<string>();
  const waiting = new Map<string, () => void>();
  let onReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    onReady = resolve;
  });
  const result = new Promise<Result>((resolve, reject) => {
    child.process.on('message', (message: LoadMessage<Result>) => {
      if (message.type === 'ready') onReady();
      else if (message.type === 'done') resolve(message.result);
      else if (message.type === 'failed') reject(new Error(`${script}: ${message.message}`));
      else {
        points.add(message.point);
        waiting.get(message.point)?.();
      }
    });
    void once(child.process, 'close').then(() => reject(new Error(`${script} ended without a result`)));
  }).finally(() => child.stop());
  // a failure also rejects waits for `ready` or a point
  result.catch(() => {});
  send(child, { type: 'job', job });
  await Promise.race([ready, result]);
  return {
    go: () => send(child, { type: 'go' }),
    reached: (point) =>
      points.has(point)
        ? Promise.resolve()
        : Promise.race([
            new Promise<void>((resolve) => waiting.set(point, resolve)),
            result.then(() => {
              throw new Error(`${script} ended before it reached ${point}`);
            }),
          ]),
    stop: () => send(child, { type: 'stop' }),
    result,
  };
}

function send(child: Child, message: object): void {
  child.process.send?.(message);
}
