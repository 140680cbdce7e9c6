import { clean, failed, type ScanOutcome, tooLarge } from './scan-outcome.ts';

/** With AlertExceedsMax, clamd reports by such a name that it did not look through the whole file. */
const limitSignature = /^Heuristics\.Limits\.Exceeded\b/;
/** Signatures are shown to clients: their names have no other characters. */
const unshown = /[^\w.+:/-]/g;

/** The outcome in clamd's answer to INSTREAM (clamd(8), COMMANDS). */
export function readClamdAnswer(answer: string): ScanOutcome {
  if (answer === 'stream: OK') return clean;
  const signature = /^stream: (.{1,1000}) FOUND$/.exec(answer)?.[1];
  if (signature !== undefined)
    return limitSignature.test(signature)
      ? tooLarge
      : { is: 'found', signature: signature.replace(unshown, '_').slice(0, 200) };
  if (/^INSTREAM size limit exceeded\b.*ERROR$/.test(answer)) return tooLarge;
  return failed(new Error(`clamd answered ${JSON.stringify(answer.slice(0, 200))}`));
}
