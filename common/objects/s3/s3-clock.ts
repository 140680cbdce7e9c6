import type { S3Client } from '@aws-sdk/client-s3';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';

/** Clocks that differ by less are right. Milliseconds. */
const tolerated = 60_000;
const compareEvery = 60_000;

/**
 * Sets the clock of signatures by the server's answers. S3 takes our own requests by a clock that is minutes off, but
 * presigned addresses are only good for minutes.
 */
export function followClock(
  config: Pick<S3Client['config'], 'systemClockOffset'>,
): (answer: Pick<WholeAnswer, 'headers'>) => void {
  let comparedAt = Number.NEGATIVE_INFINITY;
  return ({ headers }) => {
    const now = performance.now();
    if (now - comparedAt < compareEvery) return;
    comparedAt = now;
    const offset = Date.parse(headers.get('date') ?? '') - Date.now();
    if (Math.abs(offset - config.systemClockOffset) > tolerated) config.systemClockOffset = offset;
  };
}
