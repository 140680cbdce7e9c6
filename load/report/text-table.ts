/** A table of text: the first column to the left, figures to the right; `words` are columns of texts. */
export function textTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  words: readonly number[] = [],
): string[] {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => {
        const isText = column === 0 || words.includes(column);
        return isText ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
      })
      .join('  ')
      .trimEnd(),
  );
}
