import { CacheCounts } from '../../common/telemetry/cache-counts.ts';
import type { Metrics } from '../../common/telemetry/create-metrics.ts';
import { unobserved } from '../../common/telemetry/observe-call.ts';

/** For who measures nothing. */
export const unmeasured: Pick<Metrics, 'observeCall' | 'cache' | 'batch'> = {
  observeCall: unobserved,
  cache: () => new CacheCounts(),
  batch: () => () => {},
};
