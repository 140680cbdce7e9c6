/** A bound and the aim beyond it, in the unit of the value. */
export interface Goal {
  readonly bound: 'at most' | 'at least' | 'below';
  readonly first: number;
  readonly aim: number;
  /** How the two are shown. */
  readonly unit: string;
}

export function meets(value: number, bound: Goal['bound'], limit: number): boolean {
  if (bound === 'at least') return value >= limit;
  return bound === 'below' ? value < limit : value <= limit;
}

export function showGoal({ bound, unit }: Goal, limit: number): string {
  const sign = { 'at most': '<=', 'at least': '>=', below: '<' }[bound];
  return `${sign} ${limit}${unit}`;
}
