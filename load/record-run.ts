import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import {
  array,
  type Client,
  connect,
  datetime,
  findOne,
  insert,
  integer,
  number,
  space,
  text,
} from '#client/index.ts';
import { readResult } from './report/read-result.ts';
import type { RunResult } from './run/result.ts';

/** Milliseconds until a record has to be stored or read, with all retries. */
const patience = 60_000;
const reachTimeout = 10_000;
/** Bytes of an unpacked result at most: of a run of a day, about 25 MB. */
const mostBytes = 2 ** 28;

/** The fields of a run: what one asks by, and the whole result. */
const fields = {
  began: datetime({ required: true }),
  ended: datetime({ required: true }),
  mix: text({ required: true }),
  seed: number({ required: true }),
  kind: text({ required: true }),
  target: text({ required: true }),
  machine: text({ required: true }),
  tool: text({ required: true }),
  seconds: number({ required: true }),
  sent: integer({ required: true }),
  failed: integer({ required: true }),
  perSecond: number({ required: true }),
  /** Milliseconds, from the intended start. */
  p50: number({ required: true }),
  p99: number({ required: true }),
  max: number({ required: true }),
  /** CPU seconds. */
  targetCpu: number(),
  /** Requests a second. */
  capacity: number(),
  /** What verification found wrong; null: it did not run. */
  wrong: integer(),
  warnings: array<string[]>({ required: true }),
  /** The whole result: JSON, by gzip, as base64. */
  result: text({ required: true }),
};

/**
 * Stores a run as a record, and makes the space if there is none.
 * Rejects with a sentence, or with a SluiceError of the server.
 * @param address of a record space: `https://example.com/PROJECT/SPACE`
 * @returns the address of the record, by which `compare` reads it again
 */
export async function recordRun(address: string, token: string, result: RunResult): Promise<string> {
  const { project, slug, url } = placeOf(address);
  const db = connect({ url, token, project });
  const { mix, target, totals, verified, cost, capacity } = result;
  const began = new Date(result.began);
  const record = {
    began,
    ended: new Date(began.getTime() + 1000 * lastedSeconds(result)),
    ...{ mix: mix.name, seed: mix.seed, kind: target.kind, target: target.url },
    ...{ machine: result.machine, tool: result.tool, seconds: result.seconds },
    ...{ sent: totals.sent, failed: totals.failed, perSecond: totals.perSecond },
    ...{ p50: totals.latency.p50, p99: totals.latency.p99, max: totals.latency.max },
    targetCpu: cost.target?.cpu ?? null,
    capacity: capacity?.rate ?? null,
    wrong: verified?.wrong.length ?? null,
    warnings: [...result.warnings],
    result: (await promisify(gzip)(JSON.stringify(result))).toString('base64'),
  };
  // as a list: the body of a single record is limited to less than a long run needs
  const [stored] = await insert(db, space(slug, fields), [record], { signal: AbortSignal.timeout(patience) });
  return [url, ...[project, slug, stored?.id ?? ''].map(encodeURIComponent)].join('/');
}

/** Throws a sentence unless it is the address of a record space. */
export function checkRecordAddress(address: string): void {
  placeOf(address);
}

/** Asks the server of a record space for anything. Rejects with a sentence when there is no answer. */
export async function reachRecords(address: string): Promise<void> {
  const { url } = placeOf(address);
  try {
    await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(reachTimeout) });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
    throw new Error(`${url} can't be reached: ${reason}`, { cause: error });
  }
}

/** The result of a run that was stored. @param address of its record, as recordRun returns it */
export async function readRecordedRun(address: string, token: string): Promise<RunResult> {
  const [, ofSpace = '', id = ''] = /^(.*)\/([^/]+)\/?$/.exec(address) ?? [];
  const { project, slug, url } = placeOf(ofSpace);
  const db: Client = connect({ url, token, project });
  const signal = AbortSignal.timeout(patience);
  const found = await findOne(db, space(slug, fields), { where: { id }, select: ['result'], signal });
  if (found === null) throw new Error(`${address}: there is no such record`);
  const packed = Buffer.from(found.result, 'base64');
  const unpacked = await promisify(gunzip)(packed, { maxOutputLength: mostBytes }).catch(() => {
    throw new Error(`${address} is not a result of sluice load`);
  });
  return readResult(unpacked.toString(), address);
}

/** Server, project and space of an address; the server may be behind a path. */
function placeOf(address: string): { readonly url: string; readonly project: string; readonly slug: string } {
  const parsed = URL.canParse(address) ? new URL(address) : null;
  const segments = parsed?.pathname.split('/').filter((segment) => segment !== '') ?? [];
  const [project, slug] = segments.slice(-2);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || project === undefined || slug === undefined)
    throw new Error(`${address} is not the address of a record space: http://HOST/PROJECT/SPACE`);
  const base = ['', ...segments.slice(0, -2)].join('/');
  return { url: parsed.origin + base, project: decodeURIComponent(project), slug: decodeURIComponent(slug) };
}

/** Of all phases. */
function lastedSeconds({ windows, seconds }: RunResult): number {
  return Math.max(seconds, (windows.at(-1)?.at ?? -1) + 1);
}
