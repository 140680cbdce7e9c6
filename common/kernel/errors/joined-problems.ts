export const longestMessage = 4000;

/** Problems as one text, for clients that only show the message. A long list ends with the number of further problems. */
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
