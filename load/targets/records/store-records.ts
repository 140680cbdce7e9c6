import type { Mix, MixSpace } from '../../mix/mix.ts';
import { recordOf } from '../../seed/records.ts';
import type { Preparation } from '../target.ts';
import type { SeedRecord } from './record-choice.ts';

/** Records of one batch: the most that other servers are usually asked for. */
export const batchRecords = 1000;
/** Milliseconds between two lines of progress. */
const progressInterval = 2000;

/** Stores the records that a space has before the load, batch by batch. */
export async function storeRecords(
  { progress }: Preparation,
  { seed }: Mix,
  space: MixSpace,
  store: (records: readonly SeedRecord[], first: number) => Promise<void>,
): Promise<void> {
  let said = performance.now();
  for (let first = 0; first < space.records; first += batchRecords) {
    const count = Math.min(batchRecords, space.records - first);
    await store(
      Array.from({ length: count }, (_, at) => recordOf(seed, space, first + at)),
      first,
    );
    if (performance.now() - said < progressInterval) continue;
    said = performance.now();
    progress(`${space.name}: ${first + count} of ${space.records} records are stored`);
  }
  progress(`${space.name}: ${space.records} records are stored`);
}
