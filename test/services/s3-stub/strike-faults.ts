import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultAction, FaultStage } from './fault-rules.ts';
import { ConnectionGone, S3Error } from './s3-error.ts';

const usualStage: Readonly<Record<FaultAction['kind'], FaultStage | null>> = {
  error: 'after-body',
  'error-in-ok': 'after-body',
  delay: 'before-body',
  hang: 'before-body',
  reset: 'after-body',
  'reset-in-body': null,
  truncate: null,
  close: 'after-body',
  cut: null,
};

/** Carries out the faults of one request at a stage; rejects when that ends the request. */
export async function strikeFaults(
  actions: readonly FaultAction[],
  stage: FaultStage,
  { socket, gone }: { socket: Socket; gone: AbortSignal },
): Promise<void> {
  for (const action of actions) {
    const at = ('stage' in action ? action.stage : undefined) ?? usualStage[action.kind];
    if (at !== stage) continue;
    switch (action.kind) {
      case 'error':
        throw new S3Error(action.code, action.message ?? 'A fault of the stub.', action.status);
      case 'error-in-ok':
        throw new S3Error(action.code, 'A fault of the stub.', 200);
      case 'delay':
        await sleep(action.ms, undefined, { signal: gone }).catch(() => {
          throw new ConnectionGone();
        });
        break;
      case 'hang':
        await untilGone(gone);
        throw new ConnectionGone();
      case 'close':
        socket.end();
        throw new ConnectionGone();
      case 'reset':
        reset(socket);
    }
  }
}

/** What to do with each chunk of a request body, for the faults that strike inside it. */
export function bodyFault(
  actions: readonly FaultAction[],
  socket: Socket,
): { onRaw(bytes: number): void; onEnd(): void } {
  const action = actions.find((action) => action.kind === 'reset-in-body');
  let left = action?.bytes ?? Number.POSITIVE_INFINITY;
  return {
    onRaw(bytes) {
      left -= bytes;
      if (left <= 0) reset(socket);
    },
    onEnd() {
      if (action !== undefined) reset(socket);
    },
  };
}

function reset(socket: Socket): never {
  socket.resetAndDestroy();
  throw new ConnectionGone();
}

function untilGone(gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (gone.aborted) resolve();
    else gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
