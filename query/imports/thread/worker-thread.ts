import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { FileProblem } from '../formats/file-problem.ts';

/** Heap of a thread in megabytes, without its buffers. */
const threadMegabytes = 512;
/** Young generation in megabytes: most objects die in it, and are never copied. */
const youngMegabytes = 96;

/** Bundled scripts of threads, by URL. */
const bundles = new Map<string, Promise<string>>();

/** Starts a module on its own thread, with bounded memory. @param module without its extension */
export async function startThread(module: URL, workerData: object): Promise<Worker> {
  const isTypescript = import.meta.url.endsWith('.ts');
  const program = isTypescript ? await bundled(`${module.href}.ts`) : new URL(`${module.href}.js`);
  return new Worker(program, {
    eval: isTypescript,
    workerData,
    name: 'import',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
}

/**
 * A module with all of its imports, as one script. A thread does not inherit the loader of the process, and with its own
 * loader it takes eight times as long to start.
 */
function bundled(url: string): Promise<string> {
  const cached = bundles.get(url);
  if (cached !== undefined) return cached;
  const script = bundle(url);
  bundles.set(url, script);
  // the next thread tries again
  script.catch(() => bundles.delete(url));
  return script;
}

async function bundle(url: string): Promise<string> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(url)],
    bundle: true,
    platform: 'node',
    target: 'node20',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

/** What bounds the work of a thread. */
export interface ThreadLimits {
  readonly signal: AbortSignal;
  /** Milliseconds. */
  readonly timeout: number;
  /** The error at the deadline; absent: a DeadlinePassed. */
  readonly late?: () => Error;
}

/**
 * Runs a module on its own thread until a message gives the result (do-task.ts).
 * @param resultOf the result; undefined: further messages follow
 */
export async function threadResult<Message, Result>(
  module: URL,
  workerData: object,
  resultOf: (message: Message) => Result | undefined,
  { signal, timeout, late }: ThreadLimits,
): Promise<Result> {
  const worker = await startThread(module, workerData);
  const found = new Promise<Result>((resolve, reject) =>
    worker.on('message', (message: Message) => {
      try {
        const result = resultOf(message);
        if (result !== undefined) resolve(result);
      } catch (error) {
        reject(error as Error);
      }
    }),
  );
  const race = (limit: { readonly signal: AbortSignal }): Promise<Result> =>
    Promise.race([found, threadFailure(worker, limit.signal)]);
  return endingThread(worker, () => withDeadline(signal, timeout, race, late && { late }));
}

/** Runs work that uses a thread, and ends the thread afterwards: at once if the work failed. */
export async function endingThread<Result>(worker: Worker, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    await endIdleThread(worker);
    return result;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

/** Milliseconds. */
const idleBeforeEnd = 1000;
/** The memory of more threads than these is not held any longer. */
const mostIdle = 4;
let idle = 0;

/**
 * Ends a thread that has done its work, a second later: V8 may still compile functions of it, and Node 20 aborts the whole
 * process if the thread ends meanwhile ("ForIsolate: Assertion failed").
 */
async function endIdleThread(worker: Worker): Promise<void> {
  if (idle >= mostIdle) {
    await worker.terminate();
    return;
  }
  idle++;
  worker.unref();
  const end = (): void => void worker.terminate().finally(() => idle--);
  setTimeout(end, idleBeforeEnd).unref();
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
          ? new FileProblem(null, `reading it takes more than ${threadMegabytes} MiB of memory`)
          : error,
      ),
    );
    worker.on('exit', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new Error('the thread of an import ended'));
    });
  });
}
