/** The limit of a statement (`SETTINGS`) that ended it. */
export interface ExceededLimit {
  readonly of: 'rows' | 'time' | 'groups' | 'memory' | 'answer';
  /** The needed and the allowed amount, as the engine writes them; null: unknown. */
  readonly found: string | null;
  readonly most: string | null;
}

/** The message of our own statements that count the records they read (`throwIf`). */
export const moreRead = 'more records were read than may be';

/** The limit that ended a statement; null: none. Both engines name it in their messages. */
export function exceededLimit(error: unknown): ExceededLimit | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    for (const { of, pattern } of limits) {
      const { groups = {} } = pattern.exec(cause.message) ?? { groups: null };
      if (groups !== null) return { of, found: rounded(groups.found), most: rounded(groups.most) };
    }
  }
  return null;
}

/** https://github.com/ClickHouse/ClickHouse/blob/master/src/QueryPipeline/SizeLimits.cpp */
const limits: readonly { readonly of: ExceededLimit['of']; readonly pattern: RegExp }[] = [
  {
    of: 'rows',
    pattern: /rows .*to[_ ]read.* max rows: (?<most>[^,]+), current rows: (?<found>[\d.]+(?: \w+)?)/,
  },
  { of: 'rows', pattern: new RegExp(moreRead) },
  // only statements of our own bound the bytes
  { of: 'rows', pattern: /rows or bytes to read exceeded, max bytes/ },
  {
    of: 'groups',
    pattern: /Limit for rows to GROUP BY exceeded(?:: has (?<found>\d+) rows, maximum: (?<most>\d+))?/,
  },
  {
    of: 'answer',
    pattern: /Limit for result exceeded(?:, max bytes: (?<most>[^,]+), current bytes: (?<found>[\d.]+ \w+))?/,
  },
  {
    of: 'memory',
    pattern:
      /(?:\(?\bquery\)? memory limit|memory limit \(for query\)) exceeded(?:: would use (?<found>[\d.]+ \w+).* maximum: (?<most>[\d.]+ \w+))?/i,
  },
  { of: 'time', pattern: /TIMEOUT_EXCEEDED/ },
];

/** The engine writes `100.00` and `1.00 million`. */
function rounded(amount: string | undefined): string | null {
  return amount?.replace(/\.00\b/, '') ?? null;
}
