/** Possible delimiters, the likeliest first. */
const delimiters = [',', ';', '\t', '|'];

const guessedLines = 20;
/** Characters that a guess needs, unless the file is shorter, or has `guessedLines` lines. */
const guessedCharacters = 32 * 1024;

/** Counts of a delimiter outside of quotes. */
interface Tally {
  readonly delimiter: string;
  /** By line. */
  readonly counts: number[];
  /** On the current line. */
  count: number;
  /** How many are followed by a blank, as in prose. */
  spaced: number;
}

/** Guesses the delimiter of CSV from its first lines. Null: more text is needed. @param isWhole whether the text is complete */
export function guessDelimiter(text: string, isWhole: boolean): string | null {
  const tallies = delimiters.map((delimiter): Tally => ({ delimiter, counts: [], count: 0, spaced: 0 }));
  const rest = tallyLines(text, tallies);
  const lines = tallies[0]?.counts.length ?? 0;
  if (lines < guessedLines && !isWhole && text.length < guessedCharacters) return null;
  if (rest && (isWhole || lines === 0)) endLine(tallies);
  return tallies.reduce((best, one) => (isLikelier(one, best) ? one : best)).delimiter;
}

function endLine(tallies: readonly Tally[]): void {
  for (const tally of tallies) {
    tally.counts.push(tally.count);
    tally.count = 0;
  }
}

/** Counts delimiters on lines that are not empty. Returns whether the text ends within a line. */
function tallyLines(text: string, tallies: readonly Tally[]): boolean {
  const byDelimiter = new Map(tallies.map((tally) => [tally.delimiter, tally]));
  let isInQuotes = false;
  let isCellStart = true;
  let isEmpty = true;
  for (let at = 0; at < text.length && at < guessedCharacters; at++) {
    const char = text[at] as string;
    if (isInQuotes) {
      // the second of two quotes in a row starts a quoted part again
      if (char === '"') isInQuotes = false;
      continue;
    }
    if (char === '\n' || char === '\r') {
      if (!isEmpty) endLine(tallies);
      if (tallies[0]?.counts.length === guessedLines) return false;
      isEmpty = true;
      isCellStart = true;
      continue;
    }
    isEmpty = false;
    const tally = byDelimiter.get(char);
    isInQuotes = char === '"' && (isCellStart || text[at - 1] === '"');
    isCellStart = tally !== undefined;
    if (tally === undefined) continue;
    tally.count++;
    if (text[at + 1] === ' ') tally.spaced++;
  }
  return !isEmpty;
}

/** Compares how many lines have as many delimiters as the first line, and then how many delimiters there are. */
function isLikelier(one: Tally, other: Tally): boolean {
  const agreed = agreement(one);
  const otherAgreed = agreement(other);
  return agreed === otherAgreed ? weight(one) > weight(other) : agreed > otherAgreed;
}

/** The share of lines with as many delimiters as the first line; 0 if that has none. */
function agreement({ counts }: Tally): number {
  const [first = 0] = counts;
  return first === 0 ? 0 : counts.filter((count) => count === first).length / counts.length;
}

/** A delimiter before a blank counts half, as it is likely prose. */
function weight({ counts, spaced }: Tally): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  return all === 0 ? 0 : ((counts[0] as number) * (all - spaced / 2)) / all;
}
