/** Shorter names resemble too many others. */
const shortest = 6;
const farthest = 2;

/**
 * A sentence for each unknown variable in the environment whose name is close to one of ours.
 * @param known our names
 */
export function misspelledVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: ReadonlySet<string>,
): readonly string[] {
  return Object.keys(env).flatMap((name) => {
    if (known.has(name) || name.length < shortest) return [];
    const near = [...known].find((each) => each.length >= shortest && distance(name, each) <= farthest);
    return near === undefined ? [] : [`${name} is set, but not known: did you mean ${near}?`];
  });
}

/** The Levenshtein distance, as far as it matters. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > farthest) return farthest + 1;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
