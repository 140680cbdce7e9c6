/** Sends the requests of a job from standard input over keep-alive connections, and prints the results. */
import { text } from 'node:stream/consumers';
import { type BenchRequest, type RequestKind, requestOf } from './requests.ts';
import type { LoadJob } from './run-load.ts';
import { sendRequests } from './send-requests.ts';

/** The same request again and again. */
const repeated: readonly RequestKind[] = ['bare', 'health', 'find', 'findOneRepeated'];

/** Records per second for which arrays are prepared before the load, so that preparing them is not measured. */
const preparedRecords = 200_000;
const recordsOfArray: { readonly [kind in RequestKind]?: number } = { insert1000: 1000, insert5000: 5000 };

type Encode = (request: BenchRequest) => string;

function requestsOf(job: LoadJob): (encode: Encode) => Buffer | string {
  if ('requests' in job) {
    const { requests } = job;
    let next = 0;
    return (encode) => encode(requests[next++ % requests.length] as BenchRequest);
  }
  let number = job.from;
  if (repeated.includes(job.kind)) {
    let bytes: Buffer | undefined;
    return (encode) => (bytes ??= Buffer.from(encode(requestOf(job, number))));
  }
  const each = recordsOfArray[job.kind];
  if (each === undefined) return (encode) => encode(requestOf(job, number++));
  const prepared: BenchRequest[] = [];
  while (prepared.length < (preparedRecords * (job.seconds ?? 1)) / each)
    prepared.push(requestOf(job, number++));
  prepared.reverse();
  return (encode) => encode(prepared.pop() ?? requestOf(job, number++));
}

const job = JSON.parse(await text(process.stdin)) as LoadJob;
process.stdout.write(JSON.stringify(await sendRequests(job, requestsOf(job))));
process.exit();
