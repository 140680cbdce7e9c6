/** The systems that the service calls. */
export type System = 'engine' | 's3' | 'redis' | 'webhook' | 'smtp';

/** `missing`: the response says "not found". `aborted`: the caller no longer wants the result. */
export type Outcome = 'ok' | 'missing' | 'aborted' | 'error';

export interface CallOptions {
  /** Distinguishes an aborted call from a failed call. */
  readonly signal?: Pick<AbortSignal, 'aborted' | 'reason'> | undefined;
  /** Whether a failure means "not found". */
  readonly isMissing?: (error: unknown) => boolean;
}

/**
 * Makes a call to another system, and records its duration and outcome. Settles as the work does.
 * @param call a name from a small fixed set, never a client's text
 */
export type ObserveCall = <Result>(
  system: System,
  call: string,
  work: () => Promise<Result>,
  options?: CallOptions,
) => Promise<Result>;

/** Measures nothing. */
export const unobserved: ObserveCall = (_system, _call, work) => work();

export function outcomeOf(error: unknown, { signal, isMissing }: CallOptions = {}): Outcome {
  if (isMissing?.(error) === true) return 'missing';
  if (signal?.aborted !== true) return 'error';
  // a missed deadline is a failure of the other system
  const { name } = (signal.reason ?? {}) as Partial<Error>;
  return name === 'TimeoutError' || name === 'DeadlinePassed' ? 'error' : 'aborted';
}
