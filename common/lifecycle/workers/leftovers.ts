import type { Log } from '../../log/log.ts';
import type { Peer } from './peer.ts';

/** Keys that wait; of more, the janitor finds what there is. */
const mostKeys = 100_000;
const keysAtOnce = 500;
/** A worker looks at them several times, a few seconds apart. Milliseconds. */
const sweepTimeout = 300_000;
const attempts = 3;

/** What workers left in the middle when they died, until another has cleaned up after them. */
export interface Leftovers {
  add(keys: readonly string[]): void;
  /** Has a worker that serves clean up, if there is one and something to do. */
  sweep(): void;
}

/** @param args.sweepers the workers that serve */
export function createLeftovers(args: { log: Log; sweepers: () => readonly Peer[] }): Leftovers {
  const { log, sweepers } = args;
  const waiting: { readonly key: string; attempt: number }[] = [];
  let sweeping = false;

  const sweepAll = async (): Promise<void> => {
    for (let sweeper = sweepers()[0]; sweeper !== undefined && waiting.length > 0; sweeper = sweepers()[0]) {
      const batch = waiting.splice(0, keysAtOnce);
      const keys = batch.map(({ key }) => key);
      try {
        const swept = await sweeper.ask('sweep', keys, sweepTimeout);
        log.info({ uploads: keys.length, swept }, 'cleaned up after a worker');
      } catch (error) {
        const again = batch.filter((left) => ++left.attempt < attempts);
        waiting.push(...again);
        log.error(
          { err: error, uploads: keys.length, again: again.length },
          'what a worker left could not be cleaned up',
        );
      }
    }
  };

  return {
    add(keys) {
      for (const key of keys) if (waiting.length < mostKeys) waiting.push({ key, attempt: 0 });
    },
    sweep() {
      if (sweeping || waiting.length === 0) return;
      sweeping = true;
      void sweepAll().finally(() => {
        sweeping = false;
      });
    },
  };
}
