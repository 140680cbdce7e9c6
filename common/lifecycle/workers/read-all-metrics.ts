import type { Log } from '../../log/log.ts';
import type { Metrics } from '../../telemetry/create-metrics.ts';
import { renderMetrics } from '../../telemetry/render-metrics.ts';
import type { GatheredMetrics } from './gather-metrics.ts';
import type { Peer } from './peer.ts';

/** Longer than the supervisor waits for each worker. Milliseconds. */
const gatherTimeout = 2000;

/**
 * What a scrape gets, whichever worker its connection reached: the metrics of all. Of this one alone, when the
 * supervisor does not answer. @param args.link absent: there are no others
 */
export async function readAllMetrics(args: {
  metrics: Metrics;
  link: Pick<Peer, 'ask'> | undefined;
  worker: number;
  log: Log;
}): Promise<string> {
  const { metrics, link, worker, log } = args;
  const own = await metrics.json();
  if (link === undefined) return renderMetrics([own], [{ worker, restarts: 0, answered: true }]);
  let others: GatheredMetrics = { processes: [], workers: [] };
  try {
    others = (await link.ask('metrics', null, gatherTimeout)) as GatheredMetrics;
  } catch (error) {
    log.warn({ err: error }, 'the metrics of the other workers are missing');
  }
  return renderMetrics([own, ...others.processes], others.workers);
}
