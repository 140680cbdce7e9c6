import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { FileProblem } from '../formats/file-problem.ts';

/** Heap of a thread in megabytes, without its buffers. */
const threadMegabytes = 512;
/** Young generation in megabytes: most objects die in it, and are never copied. */
const youngMegabytes = 96;

/** Bundled scripts of threads, by module. */
const bundles = new Map<string, Promise<string>>();

/** Starts a module on its own thread, with bounded memory. @param module a file of this folder, without its extension */
export async function startThread(module: string, workerData: object): Promise<Worker> {
  const isTypescript = import.meta.url.endsWith('.ts');
  const program = isTypescript ? await bundled(module) : urlOf(`${module}.js`);
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
function bundled(module: string): Promise<string> {
  const cached = bundles.get(module);
  if (cached !== undefined) return cached;
  const script = bundle(urlOf(`${module}.ts`));
  bundles.set(module, script);
  // the next thread tries again
  script.catch(() => bundles.delete(module));
  return script;
}

async function bundle(url: URL): Promise<string> {
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

function urlOf(file: string): URL {
  return new URL(`./${file}`, import.meta.url);
}
