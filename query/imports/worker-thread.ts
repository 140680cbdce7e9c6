import { Worker } from 'node:worker_threads';
import { FileProblem } from './file-problem.ts';

/** Megabytes of a thread beside its buffers. */
const threadMegabytes = 512;
/** What is dropped within so much is dropped without being copied. */
const youngMegabytes = 96;

/** Begins a program on a thread of its own, with a bound for its memory. @param module beside this one, without its ending */
export function startThread(module: string, workerData: object): Worker {
  // from TypeScript it needs a loader of its own: it has none of the process
  const program = import.meta.url.endsWith('.ts')
    ? `import('tsx/esm/api').then(({ register }) => { register(); return import(${urlOf(`${module}.ts`)}); })`
    : `import(${urlOf(`${module}.js`)})`;
  return new Worker(program, {
    ...{ eval: true, workerData, name: 'import', env: {}, execArgv: [] },
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
}

/** Rejects when a thread fails or ends, and when the signal is aborted. */
export function threadFailure(worker: Worker, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    worker.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? new FileProblem(null, `it takes more than ${threadMegabytes} MiB to be read`)
          : error,
      ),
    );
    worker.on('exit', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new Error('the thread of an import ended'));
    });
  });
}

function urlOf(path: string): string {
  return JSON.stringify(new URL(`./${path}`, import.meta.url).href);
}
