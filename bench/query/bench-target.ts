/** A server of the query benchmarks, as a kind of target: its requests are those of a job (run-load.ts). */
import { ConnectionPool } from '../../load/http/connection-pool.ts';
import { failedOutcome } from '../../load/targets/failed-outcome.ts';
import type { TargetKind } from '../../load/targets/target.ts';
import { type BenchRequest, type RequestKind, requestOf } from './requests.ts';
import type { LoadJob } from './run-load.ts';

/** The same request again and again. */
const repeated: readonly RequestKind[] = ['bare', 'health', 'find', 'findOneRepeated'];

/** Records per second for which arrays are prepared before the load, so that preparing them is not measured. */
const preparedRecords = 200_000;
const recordsOfArray: { readonly [kind in RequestKind]?: number } = { insert1000: 1000, insert5000: 5000 };

const benchTarget: TargetKind = {
  refuses: () => null,
  prepare: async () => null,
  open({ address }) {
    const pool = new ConnectionPool(address.url);
    const textOf = requestsOf(JSON.parse(address.options.job as string));
    return {
      async perform(_request, number, signal) {
        const text = textOf(number);
        try {
          const { status, bytes: receivedBytes } = await pool.send(text, undefined, { signal });
          const good = status === 200;
          return { good, status, code: good ? null : `${status}`, sentBytes: text.length, receivedBytes };
        } catch (error) {
          return failedOutcome(error, text.length);
        }
      },
      close: () => pool.close(),
    };
  },
  cleanUp: async () => {},
};

// load/ takes the default export of a module as a kind of target
export default benchTarget;

/** @returns the text of a request by its number */
function requestsOf(job: LoadJob): (number: number) => Buffer | string {
  const encode = encoder(job.url);
  if ('requests' in job) {
    const { requests } = job;
    return (number) => encode(requests[number % requests.length] as BenchRequest);
  }
  const { from, kind } = job;
  if (repeated.includes(kind)) {
    const bytes = Buffer.from(encode(requestOf(job, from)));
    return () => bytes;
  }
  const each = recordsOfArray[kind];
  if (each === undefined) return (number) => encode(requestOf(job, from + number));
  const count = Math.ceil((preparedRecords * (job.seconds ?? 1)) / each);
  const prepared = Array.from({ length: count }, (_, at) => requestOf(job, from + at));
  return (number) => {
    const request = prepared[number] ?? requestOf(job, from + number);
    delete prepared[number];
    return encode(request);
  };
}

/** @returns a function that encodes requests; the header lines of each headers object are cached */
function encoder(url: string): (request: BenchRequest) => string {
  const { host } = new URL(url);
  const known = new WeakMap<object, string>();
  const none = {};
  return ({ method, path, headers = none, body = '' }) => {
    let lines = known.get(headers);
    if (lines === undefined) {
      lines = `host: ${host}\r\n`;
      for (const [name, value] of Object.entries(headers)) lines += `${name}: ${value}\r\n`;
      known.set(headers, lines);
    }
    // bodies are ASCII
    const length = body === '' ? '' : `content-length: ${body.length}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${lines}${length}\r\n${body}`;
  };
}
