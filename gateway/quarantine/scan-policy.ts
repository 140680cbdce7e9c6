import { tooLargeToScan, unavailable } from '#kernel/errors/catalogue.ts';
import type { HiddenState } from '../catalogue/cloud-file.ts';
import type { ScanOutcome } from '../scan/scan-outcome.ts';

/** What becomes of files that the scanner can't judge: because it is away, or they are too large for it. */
export type ScanPolicy = 'refuse' | 'hold' | 'publish';

/**
 * The state of a new file. Throws 413 or 503 for one that is not to be stored.
 * @param maxBytes that the scanner takes @returns undefined: it is published
 */
export function stateOfUpload(
  outcome: ScanOutcome,
  policy: ScanPolicy,
  maxBytes: number,
): HiddenState | undefined {
  switch (outcome.is) {
    case 'clean':
      return undefined;
    case 'found':
      return 'refused';
    case 'postponed':
      return 'checking';
    default:
      if (policy === 'refuse') throw refusalOf(outcome, maxBytes);
      return policy === 'hold' ? 'checking' : undefined;
  }
}

/**
 * What becomes of a stored file that waits for the scanner: its bytes are not thrown away because the scanner is away.
 * @returns undefined: it is published
 */
export function stateOfStored(outcome: ScanOutcome, policy: ScanPolicy): HiddenState | undefined {
  switch (outcome.is) {
    case 'clean':
      return undefined;
    case 'found':
      return 'refused';
    case 'too large':
      if (policy === 'refuse') return 'refused';
      return policy === 'hold' ? 'checking' : undefined;
    case 'failed':
      return policy === 'publish' ? undefined : 'checking';
    case 'postponed':
      return 'checking';
  }
}

/** Stands for the name of a signature where a stored file is too large, and SCAN_POLICY refuses such files. */
export const tooLargeSignature = 'too large for it';

function refusalOf(outcome: ScanOutcome, maxBytes: number): Error {
  if (outcome.is === 'too large') return tooLargeToScan(maxBytes);
  const cause = outcome.is === 'failed' ? outcome.error : undefined;
  return unavailable('The virus scanner does not answer: the file was not stored', cause);
}
