import type { WorkerState } from '../../telemetry/render-metrics.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** What the supervisor knows of its workers when one of them is asked for metrics. */
export interface GatheredMetrics {
  /** What each worker that answered measures, as prom-client's JSON, but for the one that asked. */
  readonly processes: readonly (readonly object[])[];
  readonly workers: readonly WorkerState[];
}

/** Workers answer from memory: one that takes longer is stuck, or on its way out. Milliseconds. */
const answerTimeout = 1000;

/** Asks all workers but the one that asks. Never rejects; those that do not answer in time are left out. */
export function gatherMetrics(
  slots: readonly WorkerSlot[],
): (asking: WorkerSlot) => Promise<GatheredMetrics> {
  return async (asking) => {
    const others = slots.filter((slot) => slot !== asking);
    const answers = await Promise.allSettled(
      others.map(async ({ peer }) => {
        if (peer === null) throw new Error('it does not serve');
        return peer.ask('metrics', null, answerTimeout);
      }),
    );
    return {
      processes: answers
        .filter((answer) => answer.status === 'fulfilled')
        .map(({ value }) => value as readonly object[]),
      workers: slots.map((slot) => ({
        worker: slot.index,
        restarts: slot.restarts,
        answered: slot === asking || answers[others.indexOf(slot)]?.status === 'fulfilled',
      })),
    };
  };
}
