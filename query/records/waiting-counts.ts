import { ApiError } from '#kernel/errors/api-error.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type { ChangeOutcome, ChangeStep, RecordWrites } from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** What a change made of a record. */
export interface Outcome extends Pick<ChangeOutcome, 'invalidated'> {
  readonly row: StoredRow | null;
}

export const untouched: Outcome = { row: null, invalidated: null };

/** An increment that waits for its record. */
export interface WaitingCount {
  readonly step: ChangeStep;
  readonly signal: AbortSignal;
  row: StoredRow | null;
  /** Why its sum can't be stored. */
  refusal: ApiError | null;
}

/** Work that several requests wait for is not aborted. */
const { signal: never } = new AbortController();

/** Makes increments of a record in one write, or in several around one whose sum can't be stored. */
export async function makeCounts(
  writes: RecordWrites,
  space: RecordSpace,
  counts: readonly WaitingCount[],
): Promise<Outcome> {
  const [first] = counts;
  if (first === undefined) return untouched;
  try {
    const steps = counts.map((one) => one.step);
    const { rows, invalidated } = await writes.change({ space, steps, signal: never });
    counts.forEach((one, at) => {
      one.row = rows[at] ?? null;
    });
    return { row: null, invalidated };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_value') throw error;
    if (counts.length === 1) {
      first.refusal = error;
      return untouched;
    }
    const middle = counts.length >> 1;
    const half = await makeCounts(writes, space, counts.slice(0, middle));
    // nobody else waits until it may be acknowledged
    await half.invalidated;
    return makeCounts(writes, space, counts.slice(middle));
  }
}
