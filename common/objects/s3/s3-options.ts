import type { Log } from '#kernel/log/log.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import type { S3Place } from './s3-address.ts';

export interface S3StoreOptions extends S3Place {
  /** undefined: the SDK's default credential chain (environment, profile, container, instance). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** Size of a part where nothing speaks against it. S3 takes no less than 5 MiB. */
  readonly partBytes: number;
  /** The largest object there may be. */
  readonly maxObjectBytes: number;
  readonly log: Pick<Log, 'warn'>;
  /** Parts of one object that are under way at once. */
  readonly concurrentParts?: number;
  /** Connections for parts, and as many for small requests; reading objects has its own. */
  readonly maxSockets?: number;
  readonly timing?: Partial<S3Timing>;
  /** Absent: nobody measures. */
  readonly observe?: ObserveCall;
}

/** Milliseconds. */
export interface S3Timing {
  /** The deadline of a request with all its retries; a part gets a second more for each of its MiB, completing twice as long. */
  readonly request: number;
  /** The deadline of a new connection. */
  readonly connect: number;
  /**
   * How long a connection may bring nothing and take nothing, or a small request may stay without an answer. When S3
   * has answered nothing at all for this long, it is away: nothing is tried again.
   */
  readonly quiet: number;
  /** Time of S3's last answer to anything, by performance.now(). */
  readonly answered: { at: number };
  /** How long the outcome of an abandoned request that may have made something is waited for. */
  readonly settle: number;
  /** The deadline for taking back a failed object. */
  readonly cleanup: number;
  /** The pause before retry n is random, up to firstPause * 2^n and no more than longestPause. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** Called before each retry. */
  readonly onRetry?: () => void;
}

/** So that within one request's time at least four attempts can hang. */
const attemptsInARequest = 4;

export function s3Timing(given: Partial<S3Timing> = {}): S3Timing {
  const request = given.request ?? 60_000;
  const share = Math.ceil(request / attemptsInARequest);
  return {
    request,
    connect: Math.min(5_000, share),
    quiet: share,
    answered: { at: 0 },
    settle: Math.min(2_000, share),
    cleanup: Math.min(30_000, request),
    firstPause: 100,
    longestPause: 5_000,
    ...given,
  };
}
