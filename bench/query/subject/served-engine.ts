import { join } from 'node:path';
import { type Child, startScript } from '../../upload/harness/child-process.ts';

/** chDB behind HTTP, a process of its own, as a ClickHouse server would be. `ready` is its URL. */
export function startServedEngine(folder: string): Promise<Child> {
  return startScript('test/services/chdb-http-server.ts', {
    args: [JSON.stringify({ keepAliveTimeout: 10_000, port: 0, path: join(folder, 'engine') })],
    env: { UV_THREADPOOL_SIZE: '16' },
    ready: /^listening on (\S+)$/m,
  });
}
