/** Milliseconds. A longer pause would use up too much of the day in which a delivery is tried. */
export const longestPause = 3_600_000;

/**
 * The pause that an answer requests, in milliseconds; 0: none.
 * https://www.rfc-editor.org/rfc/rfc9110.html#name-retry-after
 * @param now milliseconds since 1970
 */
export function parseRetryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  if (/^\d+$/.test(text)) return Math.min(longestPause, 1000 * Number(text));
  // Date.parse accepts almost anything, such as -5
  const date = text.endsWith(' GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, Math.min(longestPause, date - now));
}
