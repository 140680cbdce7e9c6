import { CacheCounts } from './cache-counts.ts';
import type { Metrics } from './create-metrics.ts';
import { unobserved } from './observe-call.ts';

/** For who measures nothing. */
export const unmeasured: Pick<Metrics, 'observeCall' | 'cache' | 'batch'> = {
  observeCall: unobserved,
  cache: () => new CacheCounts(),
  batch: () => () => {},
};
