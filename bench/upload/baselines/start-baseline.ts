import { startScript } from '../harness/child-process.ts';
import type { Sink } from '../sink/start-sink.ts';
import { storedInSink } from '../subject/stored-in-sink.ts';
import type { ProcessSubject } from '../subject/subject.ts';

export function startUsualWay(sink: Sink, preload: readonly string[] = []): Promise<ProcessSubject> {
  return startBaseline('the usual way', 'usual-way.ts', sink, preload);
}

export function startLibStorageOnUws(sink: Sink, preload: readonly string[] = []): Promise<ProcessSubject> {
  return startBaseline('lib-storage on uWS', 'lib-storage-on-uws.ts', sink, preload);
}

async function startBaseline(
  name: string,
  script: string,
  sink: Sink,
  preload: readonly string[],
): Promise<ProcessSubject> {
  const child = await startScript(`bench/upload/baselines/${script}`, {
    // as many threads as Sluice gets
    env: { UV_THREADPOOL_SIZE: '16', ...sink.settings },
    preload,
    ready: /^baseline listens on (\S+)$/m,
    ipc: true,
  });
  return {
    name,
    target: { baseUrl: child.ready, path: '/upload', token: 'none' },
    pids: [child.pid],
    child,
    problems: storedInSink(sink, 'file'),
    stop: () => child.stop(),
  };
}
