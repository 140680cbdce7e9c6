/**
 * Sends requests of one kind over keep-alive connections, each with the next number in turn, and prints how they were
 * answered. A process of its own: `node --import tsx bench/query/load.ts` with a job on standard input.
 */
import { text } from 'node:stream/consumers';
import { type BenchRequest, type RequestKind, requestOf } from './requests.ts';
import { sendRequests } from './send-requests.ts';

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

/** The same request again and again. */
const repeated: readonly RequestKind[] = ['bare', 'health', 'find', 'findOneRepeated'];

/** Records a second that arrays are made for before the load begins, so that their making is not measured. */
const preparedRecords = 200_000;
const recordsOfArray: { readonly [kind in RequestKind]?: number } = { insert1000: 1000, insert5000: 5000 };

type Encode = (request: BenchRequest) => string;

function requestsOf(job: LoadJob): (encode: Encode) => Buffer | string {
  let number = job.from;
  if (repeated.includes(job.kind)) {
    let bytes: Buffer | undefined;
    return (encode) => (bytes ??= Buffer.from(encode(requestOf(job, number))));
  }
  const each = recordsOfArray[job.kind];
  if (each === undefined) return (encode) => encode(requestOf(job, number++));
  const prepared: BenchRequest[] = [];
  while (prepared.length < (preparedRecords * job.seconds) / each) prepared.push(requestOf(job, number++));
  prepared.reverse();
  return (encode) => encode(prepared.pop() ?? requestOf(job, number++));
}

const job = JSON.parse(await text(process.stdin)) as LoadJob;
process.stdout.write(JSON.stringify(await sendRequests(job, requestsOf(job))));
process.exit();
