import type { Outcome } from './target.ts';

/** What came of a request that has no answer: the word is the error's code, such as `ECONNRESET` or `timeout`. */
export function failedOutcome(error: unknown, sentBytes: number): Outcome {
  const { code } = error as { code?: unknown };
  const word = typeof code === 'string' && code !== '' ? code : 'no_answer';
  return { good: false, status: 0, code: word, sentBytes, receivedBytes: 0 };
}
