import { once } from 'node:events';
import { startScript } from '../harness/child-process.ts';
import type { SinkCommand } from './s3-sink.ts';
import type { ExpectedObject, SinkReport } from './sink-objects.ts';
import type { ConnectionsInUse } from './throttle.ts';

/** The store of a run, in a process of its own. */
export interface Sink {
  readonly endpoint: string;
  /** The settings of S3 clients, by the names of Sluice's configuration. */
  readonly settings: Readonly<Record<string, string>>;
  readonly pid: number;
  /** One sentence for each object that differs from what was sent. */
  problems(expected: readonly ExpectedObject[]): Promise<string[]>;
  report(): Promise<SinkReport>;
  /** Forgets all objects. */
  forget(): Promise<void>;
  /** Limits each body to this many bytes per second; 0: no limit. */
  throttle(bytesPerSecond: number): Promise<void>;
  /** Connections that brought a body, since `throttle`. */
  connections(): Promise<ConnectionsInUse>;
}

export async function startSink(): Promise<Sink> {
  const child = await startScript('bench/upload/sink/s3-sink.ts', {
    ready: /^sink listens on (\S+)$/m,
    ipc: true,
  });
  const endpoint = child.ready;
  const gone = once(child.process, 'close').then((): never => {
    throw new Error('the sink has ended');
  });
  gone.catch(() => {});
  /** One command at a time: the answers carry no numbers. */
  let last: Promise<unknown> = Promise.resolve();
  const ask = <Answer>(command: SinkCommand): Promise<Answer> => {
    const answer = last.then(async () => {
      const reply = Promise.race([once(child.process, 'message'), gone]);
      child.process.send?.(command);
      return (await reply)[0] as Answer;
    });
    last = answer.catch(() => {});
    return answer;
  };
  return {
    endpoint,
    settings: {
      S3_BUCKET: 'bench',
      S3_ENDPOINT: endpoint,
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: 'BENCHACCESSKEY000001',
      S3_SECRET_ACCESS_KEY: 'bench-secret-access-key-000000000000001',
      S3_FORCE_PATH_STYLE: 'true',
    },
    pid: child.pid,
    problems: (expected) => ask({ type: 'problems', expected }),
    report: () => ask({ type: 'report' }),
    forget: () => ask({ type: 'forget' }),
    throttle: (bytesPerSecond) => ask({ type: 'throttle', bytesPerSecond }),
    connections: () => ask({ type: 'connections' }),
  };
}
