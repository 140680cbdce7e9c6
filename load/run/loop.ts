import type { Phase } from '../mix/mix.ts';
import type { RequestRunner } from './request-runner.ts';

/** One phase in one worker. */
export interface Loop {
  /** Starts no further request. */
  stop(): void;
}

export interface LoopOptions {
  readonly phase: Phase;
  /** How many phases came before. */
  readonly index: number;
  /** On this thread's clock. */
  readonly began: number;
  /** The number of the phase's first request. */
  readonly first: number;
  readonly worker: number;
  readonly workers: number;
  /** Requests that may be under way at once, in an open loop. */
  readonly inFlight: number;
  readonly runner: RequestRunner;
  /** All requests have started. @param next the first number that was not used */
  onStarted(next: number): void;
  /** And have ended. */
  onDrained(): void;
  onFailure(error: unknown): void;
}
