/** Of Student's distribution, the quantile for 1 % on both sides together, by degrees of freedom from 2. */
const quantiles = [9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.25, 3.169, 3.106, 3.055, 3.012, 2.977];
/** With more of them; it falls to 2.58. */
const quantileBeyond = 2.947;

/**
 * How far the means of two sides may lie apart when only chance moves their runs: what a restart, another layout of memory or
 * a neighbour on the machine does, which the seconds of one run do not show. 0 with less than four runs, or without a second
 * run on each side.
 */
export function spreadOfRuns(a: readonly number[], b: readonly number[]): number {
  const freedom = a.length + b.length - 2;
  if (freedom < 2 || a.length < 2 || b.length < 2) return 0;
  const variance = (squares(a) + squares(b)) / freedom;
  const quantile = quantiles[freedom - 2] ?? quantileBeyond;
  return quantile * Math.sqrt(variance * (1 / a.length + 1 / b.length));
}

/** The sum of the squares of what each value is off their mean. */
function squares(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
}
