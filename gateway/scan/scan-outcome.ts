/** What a scanner says of a file. */
export type ScanOutcome =
  | { readonly is: 'clean' }
  | { readonly is: 'found'; readonly signature: string }
  /** The scanner does not take, or look through, files of this size. */
  | { readonly is: 'too large' }
  /** The scanner is away, hangs, or broke off. */
  | { readonly is: 'failed'; readonly error: Error }
  /** The scanner was not asked: all its connections are taken, or the upload is slow. */
  | { readonly is: 'postponed' };

export const clean: ScanOutcome = { is: 'clean' };
export const tooLarge: ScanOutcome = { is: 'too large' };
export const postponed: ScanOutcome = { is: 'postponed' };

export function failed(error: unknown): ScanOutcome {
  return { is: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
}
