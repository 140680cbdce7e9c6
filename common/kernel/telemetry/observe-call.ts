/** The systems that the service calls. */
export type System = 'engine' | 's3' | 'redis' | 'webhook';

/** `missing`: the answer was that there is no such thing. `aborted`: the caller no longer wants it. */
export type Outcome = 'ok' | 'missing' | 'aborted' | 'error';

export interface CallOptions {
  /** Tells a call that was given up from one that failed. */
  readonly signal?: Pick<AbortSignal, 'aborted' | 'reason'> | undefined;
  /** Whether a failure is the answer that there is no such thing. */
  readonly isMissing?: (error: unknown) => boolean;
}

/**
 * Does one call to another system, and notes its duration and its outcome. Settles as the work does.
 * @param call its name, of a small fixed set: never a name that a client chose
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
  // a deadline that passed is a failure of the other side
  const { name } = (signal.reason ?? {}) as Partial<Error>;
  return name === 'TimeoutError' || name === 'DeadlinePassed' ? 'error' : 'aborted';
}
