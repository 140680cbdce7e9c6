import type { S3Client, ServiceInputTypes, ServiceOutputTypes } from '@aws-sdk/client-s3';
import type { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Cleanups } from './cleanups.ts';
import type { S3Address } from './s3-address.ts';
import { isNotFound, isStatus, withStorageErrors } from './s3-failure.ts';
import type { S3StoreOptions, S3Timing } from './s3-options.ts';
import type { Presign } from './s3-presigner.ts';
import { type RetryLimits, retrying } from './s3-retry.ts';
import type { PartSender } from './s3-send-part.ts';
import type { S3Request, S3Sender } from './s3-sender.ts';

/** State shared by the operations of a store. */
export interface S3Context {
  readonly bucket: string;
  /** For small requests that are rare. */
  readonly client: S3Client;
  /** For objects, which may be read slowly. */
  readonly reader: S3Client;
  readonly address: S3Address;
  readonly sendPart: PartSender;
  /** For small requests about objects, without the SDK. */
  readonly send: S3Sender;
  /** Signs requests that clients send to the bucket's public address. */
  readonly presign: Presign;
  readonly timing: S3Timing;
  /** Whether the server accepts x-amz-checksum-*: true until it refuses. */
  readonly checksums: { on: boolean };
  readonly cleanups: Cleanups;
  readonly deploymentId: string | undefined;
  readonly log: S3StoreOptions['log'];
}

/** Sends a request without the SDK, with retries. Rejects with the original failure. */
export function trySend(
  { timing, send }: Pick<S3Context, 'timing' | 'send'>,
  request: S3Request,
  signal: AbortSignal,
  limits: RetryLimits = { total: timing.request, attempt: timing.quiet },
): Promise<WholeAnswer> {
  return retrying(timing, limits, signal, (attempt) => send(request, attempt));
}

/** Like `trySend`; null: not found. */
export function trySendOrNull(
  context: Pick<S3Context, 'timing' | 'send'>,
  request: S3Request,
  signal: AbortSignal,
): Promise<WholeAnswer | null> {
  return tryReadOrNull(context, request, signal, (answer) => answer);
}

/** Like `trySendOrNull`, with what is read of the answer: one that can't be read is a failed attempt. */
export async function tryReadOrNull<T>(
  { timing, send }: Pick<S3Context, 'timing' | 'send'>,
  request: S3Request,
  signal: AbortSignal,
  read: (answer: WholeAnswer) => T,
): Promise<T | null> {
  const limits = { total: timing.request, attempt: timing.quiet };
  try {
    return await retrying(timing, limits, signal, async (attempt) => read(await send(request, attempt)));
  } catch (error) {
    signal.throwIfAborted();
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** Like `trySendOrNull`. Rejects with an error that names the operation, or with the signal's reason. */
export function sendOrNull(
  context: Pick<S3Context, 'timing' | 'send'>,
  request: S3Request,
  signal: AbortSignal,
): Promise<WholeAnswer | null> {
  const { operation, key } = request;
  return withStorageErrors(operation, key, signal, () => trySendOrNull(context, request, signal));
}

type S3Command<Input extends ServiceInputTypes, Output extends ServiceOutputTypes> = Parameters<
  typeof S3Client.prototype.send<Input, Output>
>[0];

/**
 * Makes a small request with the SDK, but our retries and deadlines. Rejects with the original failure. The SDK may
 * ignore the signal while it waits for credentials, so an abort does not wait for the SDK.
 */
export function tryControl<T>(
  { timing }: Pick<S3Context, 'timing'>,
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<T>,
  limits: RetryLimits = { total: timing.request, attempt: timing.quiet },
): Promise<T> {
  return retrying(timing, limits, signal, (attempt) => untilAborted(send(attempt.signal), attempt.signal));
}

/** Sends a command like `tryControl`. */
export function tryCommand<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  context: S3Context,
  command: S3Command<Input, Output>,
  signal: AbortSignal,
  client = context.client,
): Promise<Output> {
  return tryControl(context, signal, (abortSignal) => client.send(command, { abortSignal }));
}

/** Like `tryCommand`; null: not found. */
export async function tryOrNull<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  context: S3Context,
  command: S3Command<Input, Output>,
  signal: AbortSignal,
): Promise<Output | null> {
  try {
    return await tryCommand(context, command, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isStatus(error, 404)) return null;
    throw error;
  }
}

/** Sends a command. Rejects with an error that names the operation, or with the signal's reason. */
export function control<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  context: S3Context,
  command: S3Command<Input, Output>,
  signal: AbortSignal,
  client = context.client,
): Promise<Output> {
  return withStorageErrors(...subjectOf(command), signal, () => tryCommand(context, command, signal, client));
}

/** Like `control`; null: not found. */
export function controlOrNull<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  context: S3Context,
  command: S3Command<Input, Output>,
  signal: AbortSignal,
): Promise<Output | null> {
  return withStorageErrors(...subjectOf(command), signal, () => tryOrNull(context, command, signal));
}

function subjectOf(command: { readonly input: object }): [operation: string, key: string] {
  const { Key, Prefix } = command.input as { readonly Key?: string; readonly Prefix?: string };
  // the SDK names commands after their classes
  return [command.constructor.name.replace(/Command$/, ''), Key ?? Prefix ?? ''];
}
