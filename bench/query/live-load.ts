import { ConnectionPool } from '../../load/http/connection-pool.ts';
import { openStreams } from '../../load/live/open-streams.ts';
import { run } from '../../load/main.ts';
import type { LiveRequest, Mix } from '../../load/mix/mix.ts';
import { parseMix } from '../../load/mix/read-mix.ts';
import type { LiveResult } from '../../load/run/result.ts';
import { liveFinds } from '../../load/targets/sluice/live-finds.ts';
import type { TargetAddress } from '../../load/targets/target.ts';
import { benchToken } from './direct-store.ts';

/** Records before the load: streams choose among them. */
const records = 10_000;

interface LiveLoad {
  readonly seconds: number;
  /** `city`: on average each insert matches one of as many streams as there are cities; `number`: none matches. */
  readonly by?: 'city' | 'number';
  readonly cities?: number;
  readonly streams?: number;
  /** Inserts a second. */
  readonly rate?: number;
  /** Or inserts at a time, as many as possible. */
  readonly concurrency?: number;
  /** Another process on the same tables: streams go there. */
  readonly listening?: string;
}

export interface LiveFigures {
  /** Inserts. */
  readonly perSecond: number;
  readonly live: LiveResult | null;
}

/** Inserts records beside live finds. Rejects when an insert failed or a stream lost something. */
export async function runLive(url: string, load: LiveLoad): Promise<LiveFigures> {
  const { totals, live, verified } = await run({
    mix: mixOf(load),
    target: { ...targetOf(url), ...(load.listening === undefined ? {} : listeningTarget(load.listening)) },
    workers: 1,
  });
  const problems = [...(verified?.wrong ?? []), ...Object.keys(totals.codes)];
  if (problems.length > 0) throw new Error(`live queries under load: ${problems.join(', ')}`);
  return { perSecond: totals.perSecond, live };
}

/** Opens streams of one record each, to a server that has had such a load. @returns what closes them */
export async function openFinds(url: string, count: number): Promise<() => void> {
  const mix = mixOf({ by: 'number', seconds: 1, streams: count });
  const pool = new ConnectionPool(url);
  const { signal } = new AbortController();
  const requests = mix.requests.filter((request): request is LiveRequest => request.kind === 'live');
  const numbers = Array.from({ length: count }, (_, number) => number);
  const session = { mix, address: targetOf(url), prepared: null, signal };
  const streams = await openStreams({ requests, numbers, signal }, mix.seed, liveFinds(session, pool));
  return () => {
    streams.close();
    pool.close();
  };
}

function mixOf({ seconds, by = 'city', cities = 1000, streams = 0, rate, concurrency }: LiveLoad): Mix {
  const fields = [
    { name: 'city', type: 'TEXT', values: cities },
    { name: 'number', type: 'NUMBER' },
    { name: 'note', type: 'TEXT' },
  ];
  const mix = {
    spaces: [{ name: 'live', records, fields }],
    requests: [{ kind: 'live', by: [by] }, { kind: 'insert' }],
    phases: [{ name: 'load', seconds, streams, rate, concurrency }],
  };
  return parseMix('live.json', JSON.stringify(mix));
}

function targetOf(url: string): TargetAddress {
  return { kind: 'sluice', url, credential: benchToken, options: {} };
}

function listeningTarget(listening: string): Pick<TargetAddress, 'module' | 'options'> {
  const module = new URL('../served/listening-target.ts', import.meta.url).href;
  return { module, options: { listening } };
}
