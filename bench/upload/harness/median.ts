/** The middle of the values, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** A median and its values, for the JSON file of the table. */
export interface Sample {
  readonly median: number;
  readonly values: readonly number[];
}

export function sampleOf(values: readonly number[]): Sample {
  return { median: median(values), values };
}
