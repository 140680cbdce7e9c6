import { ApiError } from '#kernel/errors/api-error.ts';

/** What a call throws; null when it doesn't. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}

/** The problems of the 400 that a call throws. @param code of the error, where it matters */
export function problemsOf(work: () => unknown, code?: string): readonly string[] {
  return problemsIn(thrownBy(work), code);
}

/** The same of an error. */
export function problemsIn(error: unknown, code?: string): readonly string[] {
  if (!(error instanceof ApiError)) throw new Error(`not refused: ${error}`);
  if (error.status !== 400) throw new Error(`refused with ${error.status}`);
  if (code !== undefined && error.code !== code) throw new Error(`refused with ${error.code}`);
  return error.problems;
}
