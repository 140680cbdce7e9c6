import { gibibyte } from '../harness/bytes.ts';
import { startScript } from '../harness/child-process.ts';
import { startEnvironment } from '../harness/start-environment.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/temporary-directory.ts';
import type { Sink } from '../sink/start-sink.ts';
import { storedInSink } from './stored-in-sink.ts';
import { storedOnDisk } from './stored-on-disk.ts';
import type { ProcessSubject } from './subject.ts';

export interface SluiceSubject extends ProcessSubject {
  readonly dataDir: string;
}

export type StoreName = 's3' | 'fs';

export interface SluiceOptions {
  readonly store: StoreName;
  readonly sink: Sink;
  readonly env?: Readonly<Record<string, string>>;
  /** Modules that run before the server's own. */
  readonly preload?: readonly string[];
}

const token = 'bench-token-0123456789abcdef';

/** Starts Sluice like `npm start`, with its own data directory, and a limit above all files here. */
export async function startSluice(options: SluiceOptions): Promise<SluiceSubject> {
  const dataDir = makeTemporaryDirectory();
  const child = await startScript('main.ts', {
    preload: options.preload ?? [],
    ipc: options.preload !== undefined,
    env: {
      ...startEnvironment(),
      PORT: '0',
      DATA_DIR: dataDir,
      BOOTSTRAP_TOKEN: token,
      MAX_UPLOAD_BYTES: String(5 * gibibyte),
      ...(options.store === 's3' ? options.sink.settings : {}),
      ...options.env,
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
  const target = { baseUrl: child.ready, path: '/_f_/bench/upload', token };
  return {
    name: `Sluice (${options.store === 's3' ? 'S3' : 'file system'})`,
    target,
    pids: [child.pid],
    problems: options.store === 's3' ? storedInSink(options.sink, 'file') : storedOnDisk(target),
    child,
    dataDir,
    async stop() {
      await child.stop();
      removeTemporaryDirectory(dataDir);
    },
  };
}
