/** Which limit of its own (`SETTINGS`) ended a statement, in words; null: none did. Both engines say it in their messages. */
export function exceededLimit(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const found = limits.find(({ pattern }) => pattern.test((cause as Error).message));
    if (found !== undefined) return found.words;
  }
  return null;
}

/** https://github.com/ClickHouse/ClickHouse/blob/master/src/QueryPipeline/SizeLimits.cpp */
const limits: readonly { readonly pattern: RegExp; readonly words: string }[] = [
  { pattern: /Limit for rows to GROUP BY exceeded/, words: 'has too many groups' },
  { pattern: /Limit for rows .*to[_ ]read/, words: 'reads too many records' },
  { pattern: /Limit for result exceeded/, words: 'has too large an answer' },
  {
    pattern: /\(?\bquery\)? memory limit exceeded|memory limit \(for query\) exceeded/i,
    words: 'takes too much memory',
  },
];
