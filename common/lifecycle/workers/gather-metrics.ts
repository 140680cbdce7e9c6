import type { WorkerSlot } from './worker-slot.ts';

/** What the supervisor knows of its workers when one of them is asked for metrics. */
export interface GatheredMetrics {
  /** What each worker that answered measures, as prom-client's JSON, but for the one that asked. */
  readonly workers: readonly unknown[];
  readonly restarts: readonly { readonly worker: number; readonly restarts: number }[];
  /** Workers that should serve and said nothing. */
  readonly silent: number;
}

/** Workers answer from memory: one that takes longer is stuck, or on its way out. Milliseconds. */
const answerTimeout = 1000;

/** Asks all workers but the one that asks. Never rejects; those that do not answer in time are counted. */
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
      workers: answers.filter((answer) => answer.status === 'fulfilled').map(({ value }) => value),
      restarts: slots.map(({ index, restarts }) => ({ worker: index, restarts })),
      silent: answers.filter(({ status }) => status === 'rejected').length,
    };
  };
}
