const sample = 'arrayJoin\\(arrayMap\\(term';
const count = 'AS _space, toFloat64\\(count\\(\\)\\) AS count\\s+FROM ';
const spaces = '.* WHERE space (?<spaces>.*) (?:GROUP BY space|LIMIT)';

/** The statements by which a store learns which values are rare. */
export const asksForRare = new RegExp(`${sample}|${count}${spaces}`, 's');

/** Rows by which it takes all values of all spaces for rare; null: the statement asks for something else. */
export function everyValueIsRare(sql: string): readonly object[] | null {
  const asked = asksForRare.exec(sql);
  if (asked === null) return null;
  const named = asked.groups?.spaces ?? '';
  return Array.from(named.matchAll(/'([^']+)'/g), ([, _space]) => ({ _space, count: 1e6 }));
}
