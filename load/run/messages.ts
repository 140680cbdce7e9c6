import type { NoteBatch } from '../live/live-notes.ts';
import type { Mix, Phase } from '../mix/mix.ts';
import type { Stored, TargetAddress } from '../targets/target.ts';

/** What a worker thread is started with. */
export interface WorkerSetup {
  /** This worker's number, and how many there are. */
  readonly worker: number;
  readonly workers: number;
  readonly mix: Mix;
  readonly address: TargetAddress;
  readonly prepared: unknown;
  /** Milliseconds until a request without an answer has failed. */
  readonly timeout: number;
  /** Requests that this worker may have under way at once, in an open loop. */
  readonly inFlight: number;
  /** Which share of what was stored is kept for verification, 0 to 1. */
  readonly verify: number;
}

/** Times are milliseconds since 1970: threads have clocks that begin at different moments. */
export type ToWorker =
  | { readonly kind: 'begin'; readonly at: number }
  /** Opens streams with these numbers in place of those that are open. */
  | { readonly kind: 'streams'; readonly numbers: readonly number[] }
  | PhaseStart
  /** Starts no further request of the running phase. */
  | { readonly kind: 'stop' }
  /** Gives up what is under way. */
  | { readonly kind: 'abort' }
  | { readonly kind: 'end' };

export interface PhaseStart {
  readonly kind: 'phase';
  /** How many phases came before. */
  readonly index: number;
  readonly phase: Phase;
  readonly at: number;
  /** The number of its first request. */
  readonly first: number;
}

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'streaming' }
  | Samples
  /** Nothing more comes of this second of the run. */
  | {
      readonly kind: 'second';
      readonly second: number;
      /** Share of the second in which the thread worked. */
      readonly busy: number;
      /** The largest delay of a start against the schedule, in milliseconds, for which the tool is to blame. */
      readonly late: number;
      /** Requests that had to wait because too many were under way. */
      readonly waited: number;
    }
  /** Of a mix with live requests: what came since the message before. */
  | ({ readonly kind: 'notes' } & NoteBatch)
  /** All requests of a phase have started; `next` is the first number that it didn't use. */
  | { readonly kind: 'started'; readonly index: number; readonly next: number }
  /** And have their outcomes. */
  | { readonly kind: 'drained'; readonly index: number }
  | { readonly kind: 'failed'; readonly error: Error }
  | {
      readonly kind: 'ended';
      readonly stored: readonly Stored[];
      readonly wrong: readonly string[];
      readonly live: LiveCounts;
    };

/** Outcomes of one second, or of a part of it. */
export interface Samples {
  readonly kind: 'samples';
  readonly second: number;
  /** Three numbers an outcome: its tag, and microseconds from the intended start and from the real one. */
  readonly outcomes: Uint32Array;
  readonly counts: readonly RequestCounts[];
}

/** Since the samples before. */
export interface RequestCounts {
  readonly phase: number;
  /** Its place in the mix. */
  readonly request: number;
  sent: number;
  sentBytes: number;
  receivedBytes: number;
  readonly codes: Record<string, number>;
}

export interface LiveCounts {
  streams: number;
  events: number;
  lost: number;
  /** How often streams ended or were refused, by reason. */
  readonly ends: Record<string, number>;
}

/** Requests of a mix are fewer than this. */
const requestsOfMix = 4096;

/** An outcome's phase, its request's place in the mix, and whether it was good, in one number. */
export function tagOf(phase: number, request: number, good: boolean): number {
  return (phase * requestsOfMix + request) * 2 + (good ? 1 : 0);
}

export function readTag(tag: number): { phase: number; request: number; good: boolean } {
  const rest = Math.floor(tag / 2);
  return { phase: Math.floor(rest / requestsOfMix), request: rest % requestsOfMix, good: tag % 2 === 1 };
}
