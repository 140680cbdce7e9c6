/** Which limit of its own (`SETTINGS`) ended a statement, in words; null: none did. Both engines say it in their messages. */
export function exceededLimit(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { message } = cause;
    const rows = /rows .*to[_ ]read.* max rows: ([^,]+), current rows: ([\d.]+(?: \w+)?)/.exec(message);
    if (rows !== null) return `would read ${rounded(rows[2])} records, and may read ${rounded(rows[1])}`;
    const found = limits.find(({ pattern }) => pattern.test(message));
    if (found !== undefined) return found.words;
  }
  return null;
}

/** https://github.com/ClickHouse/ClickHouse/blob/master/src/QueryPipeline/SizeLimits.cpp */
const limits: readonly { readonly pattern: RegExp; readonly words: string }[] = [
  { pattern: /Limit for rows to GROUP BY exceeded/, words: 'has too many groups' },
  { pattern: /Limit for result exceeded/, words: 'has too large an answer' },
  {
    pattern: /\(?\bquery\)? memory limit exceeded|memory limit \(for query\) exceeded/i,
    words: 'takes too much memory',
  },
];

/** The engine writes `100.00` and `1.00 million`. */
function rounded(amount = ''): string {
  return amount.replace(/\.00\b/, '');
}
