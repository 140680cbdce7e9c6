import { percentile } from './histogram.ts';
import type { RunningTotals } from './running-totals.ts';

/** What a server must hold to at a rate: all conditions at once. */
export interface CapacityGoal {
  readonly text: string;
  readonly conditions: readonly GoalCondition[];
}

type GoalCondition =
  /** Of latency from the intended start. */
  | { readonly kind: 'latency'; readonly percent: number; readonly milliseconds: number }
  /** Share of the requests that failed. */
  | { readonly kind: 'errors'; readonly share: number };

const latency = /^p(\d{1,2}(?:\.\d+)?|999|9999) *< *(\d+(?:\.\d+)?) *(ms|s)$/;
const errors = /^errors *< *(\d+(?:\.\d+)?) *%$/;

/** @param text as `p99 < 50ms, errors < 0.1 %`. Throws a sentence. */
export function parseCapacityGoal(text: string): CapacityGoal {
  const conditions = text.split(',').map((part): GoalCondition => {
    const [, digits, amount, unit] = latency.exec(part.trim()) ?? [];
    if (digits !== undefined) {
      // p999 is the percentile 99.9
      const percent =
        digits.includes('.') || digits.length <= 2
          ? Number(digits)
          : Number(`${digits.slice(0, 2)}.${digits.slice(2)}`);
      return { kind: 'latency', percent, milliseconds: Number(amount) * (unit === 's' ? 1000 : 1) };
    }
    const share = errors.exec(part.trim())?.[1];
    if (share !== undefined) return { kind: 'errors', share: Number(share) / 100 };
    throw new Error(
      `the goal ${JSON.stringify(part.trim())} is not understood; write it as "p99 < 50ms, errors < 0.1 %"`,
    );
  });
  return { text, conditions };
}

/** @returns a sentence for the first condition that was missed, or null */
export function missedCondition({ conditions }: CapacityGoal, totals: RunningTotals): string | null {
  if (totals.good + totals.failed === 0) return 'nothing was answered';
  for (const condition of conditions) {
    if (condition.kind === 'errors') {
      if (totals.errors >= condition.share && totals.failed > 0)
        return `${shown(totals.errors * 100)} % of the requests failed`;
      continue;
    }
    const { percent, milliseconds } = condition;
    const at = percentile(totals.latency, percent) ?? 0;
    if (at >= milliseconds) return `p${percent} was ${shown(at)} ms`;
  }
  return null;
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
