import type { S3Client } from '@aws-sdk/client-s3';
import { untilAborted } from '../../limits/until-aborted.ts';
import type { Cleanups } from './cleanups.ts';
import type { S3Address } from './s3-address.ts';
import { storageError } from './s3-failure.ts';
import type { S3StoreOptions, S3Timing } from './s3-options.ts';
import { type RetryLimits, retrying } from './s3-retry.ts';
import type { PartSender } from './s3-send-part.ts';

/** What the operations of one store share. */
export interface S3Context {
  readonly bucket: string;
  readonly client: S3Client;
  readonly address: S3Address;
  readonly sendPart: PartSender;
  readonly timing: S3Timing;
  readonly checksums: ChecksumSupport;
  readonly cleanups: Cleanups;
  readonly log: S3StoreOptions['log'];
}

/** Whether the server takes x-amz-checksum-*; until one refuses, it does. */
export interface ChecksumSupport {
  on: boolean;
}

export interface ControlRequest {
  readonly operation: string;
  /** Empty for what concerns the bucket. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a small request of the SDK's, with our retries and deadlines. Rejects with the failure as it came. The SDK
 * may wait for credentials and not hear the signal, so it is not waited for.
 */
export function tryControl<T>(
  { timing }: Pick<S3Context, 'timing'>,
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<T>,
  limits: RetryLimits = { total: timing.request, attempt: timing.quiet },
): Promise<T> {
  return retrying(timing, limits, signal, (attempt) => untilAborted(send(attempt.signal), attempt.signal));
}

/** The same; rejects with an error that says what failed, or the signal's reason. */
export async function control<T>(
  context: Pick<S3Context, 'timing'>,
  request: ControlRequest,
  send: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await tryControl(context, request.signal, send);
  } catch (error) {
    request.signal.throwIfAborted();
    throw storageError(request.operation, request.key, error);
  }
}
