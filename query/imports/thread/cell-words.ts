/** Words for booleans, and the decimal separator, of a CSV file that does not write them as JSON does. */
export interface CellWords {
  readonly true?: readonly string[];
  readonly false?: readonly string[];
  /** The decimal separator; absent: a point. */
  readonly decimal?: ',';
}

/** `CellWords` in a form that is fast to look up. */
export interface CellVocabulary {
  /** By words in lower case. */
  readonly booleans: ReadonlyMap<string, boolean>;
  readonly hasComma: boolean;
}

/** The opposites of words for true: PostgreSQL writes `t` and `f`. */
const opposites: Readonly<Record<string, string>> = { t: 'f', yes: 'no', y: 'n', on: 'off', 1: '0' };

/** Common words for true, in the order in which they are tried. */
export const trueWords: readonly string[] = Object.keys(opposites);

export function opposite(word: string): string | undefined {
  return opposites[word.toLowerCase()];
}

/** Without words for false, the opposites of the words for true are false. */
export function cellVocabulary(words: CellWords = {}): CellVocabulary {
  const { true: trues = [], false: falses = trues.flatMap((word) => opposite(word) ?? []), decimal } = words;
  const booleans = new Map([
    ['true', true],
    ['false', false],
  ]);
  for (const word of trues) booleans.set(word.toLowerCase(), true);
  for (const word of falses) booleans.set(word.toLowerCase(), false);
  return { booleans, hasComma: decimal === ',' };
}
