/**
 * Sends requests of one kind over keep-alive connections, each with the next number in turn, and prints how they were
 * answered. A process of its own: `node --import tsx bench/query/load.ts` with a job on standard input.
 */
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { type RequestKind, requestOf } from './requests.ts';
import { sendRepeated } from './send-repeated.ts';

export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  /** It ends after so long, or after so many requests. */
  readonly seconds: number;
  readonly amount?: number;
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

interface Run extends Promise<Result> {
  stop(): void;
}

type Autocannon = (options: unknown) => Run;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

/** One request again and again: autocannon spends more on it than the server, and would measure itself. */
const repeated: readonly RequestKind[] = ['bare', 'health', 'find', 'findOneRepeated'];

async function cannonade(job: LoadJob): Promise<LoadResult> {
  let next = job.from;
  const run = autocannon({
    url: job.url,
    connections: job.connections,
    // seconds
    timeout: 60,
    ...(job.amount === undefined ? { duration: job.seconds } : { amount: job.amount }),
    requests: [
      {
        setupRequest: (request: object) => ({ ...request, ...requestOf(job, next++) }),
      },
    ],
  });
  const timer = setTimeout(() => run.stop(), job.seconds * 1000);
  const result = await run;
  clearTimeout(timer);
  const { latency, duration } = result;
  return {
    perSecond: result['2xx'] / duration,
    good: result['2xx'],
    bad: result.non2xx + result.errors + result.timeouts,
    p50: latency.p50,
    p99: latency.p99,
  };
}

const job = JSON.parse(await text(process.stdin)) as LoadJob;
const answer = await (repeated.includes(job.kind)
  ? sendRepeated(job, requestOf(job, job.from))
  : cannonade(job));
process.stdout.write(JSON.stringify(answer));
process.exit();
