import type { Capacity } from '../run/result.ts';
import { formatNumber } from './format.ts';

/** What a search for capacity found, as a sentence. */
export function describeCapacity({ rate, steps }: Capacity): string {
  if (rate !== null) return `The target keeps the goal up to ${formatNumber(rate)} requests a second.`;
  const met = steps.filter((step) => step.met).map((step) => step.rate);
  if (met.length === 0) return 'Even the lowest rate missed the goal.';
  return `No rate kept the goal for as long as it takes to confirm it; ${formatNumber(Math.max(...met))} requests a second kept it for a moment.`;
}
