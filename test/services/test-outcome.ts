/** Tests of a file. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
}

/**
 * What became of a test file, by its exit status and what it printed as TAP. Both count: a process can fail without a test
 * that does, and one whose tests wait for nothing that could still come ends with status 0.
 */
export function outcomeOf(status: number | null, output: string): Outcome {
  const failed = count(output, /^ *not ok \d+/gm);
  return { passed: count(output, /^ *ok \d+/gm), failed: status === 0 ? failed : Math.max(1, failed) };
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
