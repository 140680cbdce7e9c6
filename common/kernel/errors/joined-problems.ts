export const longestMessage = 4000;

/** Problems as one text, for clients that show nothing else; of very many the first ones, and the number of the others. */
export function joinedProblems(problems: readonly string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const problem of problems) {
    length += problem.length;
    if (shown.length > 0 && length > longestMessage) {
      return `${shown.join('; ')}; and ${problems.length - shown.length} more`;
    }
    shown.push(problem);
  }
  return shown.join('; ');
}
