/** Between cells, the likeliest first. */
const delimiters = [',', ';', '\t', '|'];

const guessedLines = 20;
/** Characters that have to be there before a guess, unless the file ends, or has that many lines. */
const guessedCharacters = 32 * 1024;

/** A delimiter outside of quotes. */
interface Tally {
  readonly delimiter: string;
  /** On each line. */
  readonly counts: number[];
  /** On the line that is read. */
  count: number;
  /** How many have a blank behind them, as in prose. */
  spaced: number;
}

/** The delimiter of a CSV text, by its first lines. Null: more of it is needed. @param isWhole nothing follows the text */
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

/** Counts on lines that are not empty. Answers whether a line goes on at the end. */
function tallyLines(text: string, tallies: readonly Tally[]): boolean {
  const byDelimiter = new Map(tallies.map((tally) => [tally.delimiter, tally]));
  let isInQuotes = false;
  let isCellStart = true;
  let isEmpty = true;
  for (let at = 0; at < text.length && at < guessedCharacters; at++) {
    const char = text[at] as string;
    if (isInQuotes) {
      // of a pair of them the second one begins again
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

/** First by how many lines have a delimiter as often as the first one does, then by how often that is. */
function isLikelier(one: Tally, than: Tally): boolean {
  const [ours, theirs] = [agreement(one), agreement(than)];
  return ours === theirs ? weight(one) > weight(than) : ours > theirs;
}

/** The part of the lines that have as many as the first one; 0 where that has none. */
function agreement({ counts }: Tally): number {
  const [first = 0] = counts;
  return first === 0 ? 0 : counts.filter((count) => count === first).length / counts.length;
}

/** Those with a blank behind them are likelier prose. */
function weight({ counts, spaced }: Tally): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  return all === 0 ? 0 : ((counts[0] as number) * (all - spaced / 2)) / all;
}
