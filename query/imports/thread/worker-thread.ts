import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { FileProblem } from '../formats/file-problem.ts';

/** Megabytes of a thread beside its buffers. */
const threadMegabytes = 512;
/** What is dropped within so much is dropped without being copied. */
const youngMegabytes = 96;

/** Scripts of threads, by module. */
const bundles = new Map<string, Promise<string>>();

/** Begins a program on a thread of its own, with a bound for its memory. @param module beside this one, without its ending */
export async function startThread(module: string, workerData: object): Promise<Worker> {
  const isTypescript = import.meta.url.endsWith('.ts');
  const program = isTypescript ? await bundled(module) : urlOf(`${module}.js`);
  return new Worker(program, {
    ...{ eval: isTypescript, workerData, name: 'import', env: {}, execArgv: [] },
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
}

/**
 * A module with all that it imports, as one script. A thread has no loader of the process: one of its own takes eight
 * times as long to start.
 */
function bundled(module: string): Promise<string> {
  const known = bundles.get(module);
  if (known !== undefined) return known;
  const made = bundle(urlOf(`${module}.ts`));
  bundles.set(module, made);
  // the next thread tries again
  made.catch(() => bundles.delete(module));
  return made;
}

async function bundle(url: URL): Promise<string> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    ...{ entryPoints: [fileURLToPath(url)], bundle: true, platform: 'node', target: 'node20' },
    ...{ write: false, logLevel: 'silent' },
  });
  return outputFiles[0]?.text ?? '';
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

function urlOf(file: string): URL {
  return new URL(`./${file}`, import.meta.url);
}
