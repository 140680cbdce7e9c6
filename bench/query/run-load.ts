import { run } from '../../load/main.ts';
import { parseMix } from '../../load/mix/read-mix.ts';
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

/** Longer than any load of so many requests, in seconds. */
const longest = 3600;

/** Sends the requests of one kind, or those of a list, from a thread of this process, whose CPU time is not measured. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const phase = {
    seconds: job.seconds ?? longest,
    concurrency: job.connections,
    ...(job.amount === undefined ? {} : { requests: job.amount }),
  };
  // the requests themselves come from the job
  const mix = { requests: [{ kind: 'request', path: '/' }], phases: [phase] };
  const { totals } = await run({
    mix: parseMix('bench.json', JSON.stringify(mix)),
    target: {
      kind: 'http',
      module: new URL('./bench-target.ts', import.meta.url).href,
      url: job.url,
      credential: null,
      options: { job: JSON.stringify(job) },
    },
    workers: 1,
  });
  const { good, failed: bad, perSecond, latency } = totals;
  return { good, bad, perSecond, p50: latency.p50, p99: latency.p99 };
}
