import type { Log } from '#kernel/log/log.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import type { S3PublicPlace } from './s3-address.ts';

export interface S3StoreOptions extends S3PublicPlace {
  /** undefined: the SDK's default credential chain (environment, profile, container, instance). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** Default size of a part. S3 requires at least 5 MiB. */
  readonly partBytes: number;
  /** The size limit of an object. */
  readonly maxObjectBytes: number;
  readonly log: Pick<Log, 'warn'>;
  /** Concurrent parts of one object. */
  readonly concurrentParts?: number;
  /** Connections for parts, and as many for small requests; reading objects has its own. */
  readonly maxSockets?: number;
  readonly timing?: Partial<S3Timing>;
  /** The deployment whose objects these are: what it can do is probed with keys of its own. Absent: it is not probed. */
  readonly deploymentId?: string | undefined;
  /** Absent: calls are not measured. */
  readonly observe?: ObserveCall;
}

/** Milliseconds. */
export interface S3Timing {
  /** The deadline of a request with all its retries; a part gets a second more for each of its MiB, completing twice as long. */
  readonly request: number;
  /** The deadline of a new connection. */
  readonly connect: number;
  /**
   * How long a connection may be silent, or a small request may go without an answer. When S3 has answered nothing at all
   * for this long, it is down: nothing is retried.
   */
  readonly quiet: number;
  /** Time of S3's last answer to anything, by performance.now(). */
  readonly answered: { at: number };
  /** How long to wait for the outcome of an abandoned request that may have created something. */
  readonly settle: number;
  /** The deadline for cleaning up a failed object. */
  readonly cleanup: number;
  /** The pause before retry n is random, up to firstPause * 2^n and at most longestPause. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** Called before each retry. */
  readonly onRetry?: () => void;
}

/** Leaves time for at least four hanging attempts within a request's deadline. */
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
