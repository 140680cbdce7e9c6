import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BenchRequest, RequestKind } from './requests.ts';

interface Load {
  readonly url: string;
  readonly connections: number;
  /** It ends after so long, or after so many requests. */
  readonly seconds?: number;
  readonly amount?: number;
}

/** Requests of one kind, or of a list in turn. */
export type LoadJob = Load &
  (
    | {
        /** Numbers go on from here, so that two runs insert no value twice. */
        readonly from: number;
        readonly kind: RequestKind;
        readonly authorization: string;
        /** What `RequestKind` needs of the data. */
        readonly ids?: readonly string[];
      }
    | { readonly requests: readonly BenchRequest[] }
  );

export interface LoadResult {
  readonly perSecond: number;
  /** Answers with status 200. */
  readonly good: number;
  readonly bad: number;
  readonly p50: number;
  readonly p99: number;
}

/** Sends the requests in a process of its own, so that its CPU time is nobody else's. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'load.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(job));
  return JSON.parse(await text(child.stdout)) as LoadResult;
}
