import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { BenchRequest, RequestKind } from './requests.ts';

interface Load {
  readonly url: string;
  readonly connections: number;
  /** The load ends after this time, or after this many requests. */
  readonly seconds?: number;
  readonly amount?: number;
}

/** Requests of one kind, or a list of requests in turn. */
export type LoadJob = Load &
  (
    | {
        /** The first number, so that two runs insert no value twice. */
        readonly from: number;
        readonly kind: RequestKind;
        readonly authorization: string;
        /** Ids of records, for the kinds that need them. */
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

/** Sends the requests from a separate process, so that its CPU time is not counted. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'load.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(job));
  return JSON.parse(await text(child.stdout)) as LoadResult;
}
