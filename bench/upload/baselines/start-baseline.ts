import { startScript } from '../harness/child-process.ts';
import type { Sink } from '../sink/start-sink.ts';
import { storedInSink } from '../subject/stored-in-sink.ts';
import type { Subject } from '../subject/subject.ts';

export function startUsualWay(sink: Sink): Promise<Subject> {
  return startBaseline('the usual way', 'usual-way.ts', sink);
}

export function startLibStorageOnUws(sink: Sink): Promise<Subject> {
  return startBaseline('lib-storage on uWS', 'lib-storage-on-uws.ts', sink);
}

async function startBaseline(name: string, script: string, sink: Sink): Promise<Subject> {
  const child = await startScript(`bench/upload/baselines/${script}`, {
    // as many threads as Sluice gets
    env: { UV_THREADPOOL_SIZE: '16', ...sink.settings },
    ready: /^baseline listens on (\S+)$/m,
    ipc: true,
  });
  return {
    name,
    target: { baseUrl: child.ready, path: '/upload', token: 'none' },
    pids: [child.pid],
    problems: storedInSink(sink, 'file'),
    stop: () => child.stop(),
  };
}
