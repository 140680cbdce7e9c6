/** What cells of CSV mean, where a file has other words than JSON. */
export interface CellWords {
  readonly true?: readonly string[];
  readonly false?: readonly string[];
  /** Before the fraction of a number; absent: a point. */
  readonly decimal?: ',';
}

export interface KnownWords {
  /** In lower case. */
  readonly booleans: ReadonlyMap<string, boolean>;
  readonly hasComma: boolean;
}

/** Opposites of words for true: PostgreSQL writes `t` and `f`. */
const opposites: Readonly<Record<string, string>> = { t: 'f', yes: 'no', y: 'n', on: 'off', 1: '0' };

/** Words for true that are known, in the order in which they are looked for. */
export const trueWords: readonly string[] = Object.keys(opposites);

export function opposite(word: string): string | undefined {
  return opposites[word.toLowerCase()];
}

/** The words for false are those that are named, or the opposites of those for true. */
export function knownWords(words: CellWords = {}): KnownWords {
  const { true: trues = [], false: falses = trues.flatMap((word) => opposite(word) ?? []), decimal } = words;
  const booleans = new Map([
    ['true', true],
    ['false', false],
  ]);
  for (const word of trues) booleans.set(word.toLowerCase(), true);
  for (const word of falses) booleans.set(word.toLowerCase(), false);
  return { booleans, hasComma: decimal === ',' };
}
