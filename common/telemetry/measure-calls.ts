import { Histogram, type Registry } from 'prom-client';
import { durationBuckets } from './duration-buckets.ts';
import { type ObserveCall, type Outcome, outcomeOf, type System } from './observe-call.ts';

/** Times calls to other systems, and counts them by how they ended. */
export function measureCalls(registry: Registry): ObserveCall {
  const durations = new Histogram({
    name: 'sluice_call_duration_seconds',
    help: 'Time that a call to the engine, to S3, to Redis or to a webhook took; of streams, until their first bytes',
    labelNames: ['system', 'call', 'outcome'],
    buckets: durationBuckets,
    registers: [registry],
  });
  return async (system: System, call, work, options) => {
    const began = performance.now();
    let outcome: Outcome = 'ok';
    try {
      return await work();
    } catch (error) {
      outcome = outcomeOf(error, options);
      throw error;
    } finally {
      durations.observe({ system, call, outcome }, (performance.now() - began) / 1000);
    }
  };
}
