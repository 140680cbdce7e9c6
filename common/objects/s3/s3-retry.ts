import { setTimeout as sleep } from 'node:timers/promises';
import { type Attempt, withDeadline } from '#kernel/limits/deadline.ts';
import { failureOf, isTransient } from './s3-failure.ts';
import type { S3Timing } from './s3-options.ts';

export interface RetryLimits {
  /** The deadline of all attempts. Milliseconds. */
  readonly total: number;
  /** The deadline of one attempt. Milliseconds. */
  readonly attempt: number;
  /**
   * How long an attempt may continue after the signal's abort to learn its outcome: an answer is more reliable than a
   * read of the store, because the abandoned request may take effect after that read. Milliseconds.
   */
  readonly grace?: number;
}

/**
 * Retries until success, a permanent failure, or the deadline: exponential backoff with full jitter, so that requests that
 * failed together are not retried together. Rejects with the last failure, or the signal's reason; an attempt that
 * succeeds within the grace is a success.
 */
export async function retrying<T>(
  timing: Pick<S3Timing, 'firstPause' | 'longestPause' | 'onRetry' | 'quiet' | 'answered'>,
  { total, attempt, grace = 0 }: RetryLimits,
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  const end = began + total;
  // an attempt with less time would only be interrupted, with an unknown outcome
  const least = Math.min(attempt, total / 10);
  let skewSeen = false;
  for (let tries = 0; ; tries++) {
    try {
      const result = await withDeadline(signal, Math.min(attempt, end - performance.now()), work, { grace });
      timing.answered.at = performance.now();
      return result;
    } catch (error) {
      signal.throwIfAborted();
      const { code, status } = failureOf(error);
      if (status !== undefined) timing.answered.at = performance.now();
      // the clock was set by the Date of the answer; if that didn't help, nothing will
      const skewed: boolean = code === 'RequestTimeTooSkewed' && !skewSeen;
      skewSeen ||= skewed;
      if (!skewed && !isTransient(error)) throw error;
      const pause = Math.random() * Math.min(timing.longestPause, timing.firstPause * 2 ** tries);
      const next = performance.now() + pause;
      // a timer may be a millisecond early
      const silence = status === undefined ? next + 1 - Math.max(began, timing.answered.at) : 0;
      if (silence > timing.quiet || next + least > end) throw error;
      await pauseFor(pause, signal);
      timing.onRetry?.();
    }
  }
}

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
