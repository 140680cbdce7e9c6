/**
 * Sends requests of one kind over keep-alive connections for a while, each with the next number in turn, and prints how
 * they were answered. A process of its own: `node --import tsx bench/query/load.ts` with a job on standard input.
 */
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { type RequestKind, requestOf } from './requests.ts';

export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Numbers go on from here, so that two runs insert no value twice. */
  readonly from: number;
  readonly kind: RequestKind;
  readonly authorization: string;
  /** What `RequestKind` needs of the data. */
  readonly ids?: readonly string[];
}

export interface LoadResult {
  readonly perSecond: number;
  readonly good: number;
  readonly bad: number;
  readonly p50: number;
  readonly p99: number;
}

interface Result {
  readonly '2xx': number;
  readonly non2xx: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly duration: number;
  readonly latency: { readonly p50: number; readonly p99: number };
}

type Autocannon = (options: unknown) => Promise<Result>;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;
const job = JSON.parse(await text(process.stdin)) as LoadJob;
let next = job.from;
const result = await autocannon({
  url: job.url,
  connections: job.connections,
  duration: job.seconds,
  requests: [
    {
      setupRequest: (request: object) => ({ ...request, ...requestOf(job, next++) }),
    },
  ],
});
const { latency, duration } = result;
const answer: LoadResult = {
  perSecond: result['2xx'] / duration,
  good: result['2xx'],
  bad: result.non2xx + result.errors + result.timeouts,
  p50: latency.p50,
  p99: latency.p99,
};
process.stdout.write(JSON.stringify(answer));
