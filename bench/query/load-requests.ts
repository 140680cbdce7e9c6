/**
 * Sends so many requests of a list, in turn, over keep-alive connections, and prints how they were answered. A process of
 * its own, so that its CPU time is nobody else's: `node --import tsx bench/query/load-requests.ts` with a job on standard input.
 */
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

export interface LoadJob {
  readonly url: string;
  readonly connections: number;
  readonly amount: number;
  readonly requests: readonly {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  }[];
}

export interface LoadResult {
  /** Answers with status 2xx. */
  readonly good: number;
  readonly bad: number;
}

type Autocannon = (
  options: unknown,
) => Promise<{ '2xx': number; non2xx: number; errors: number; timeouts: number }>;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;
const { requests, ...job } = JSON.parse(await text(process.stdin)) as LoadJob;
let next = 0;
// each connection would begin with the first of a list
const setupRequest = (request: object): object => ({ ...request, ...requests[next++ % requests.length] });
const result = await autocannon({ ...job, requests: [{ setupRequest }] });
const answer: LoadResult = {
  good: result['2xx'],
  bad: result.non2xx + result.errors + result.timeouts,
};
process.stdout.write(JSON.stringify(answer));
