/** A ratio of two medians from one run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly better: 'higher' | 'lower';
}

export interface Comparison {
  readonly name: string;
  /** Null: the baseline does not have it. */
  readonly before: number | null;
  /** Null: it was not measured. */
  readonly now: number | null;
  /** The share by which it is worse than the baseline; negative: it is better. */
  readonly behind: number | null;
  readonly failed: boolean;
}

/** A figure may be worse than its baseline by less than this share. */
export const tolerance = 0.2;

/** A figure of the baseline that was not measured has failed; a new figure cannot fail. */
export function compareFigures(baseline: readonly Figure[], measured: readonly Figure[]): Comparison[] {
  const found = new Map(measured.map((figure) => [figure.name, figure]));
  const known = new Set(baseline.map(({ name }) => name));
  return [
    ...baseline.map(({ name, value: before, better }) => {
      const now = found.get(name)?.value ?? null;
      if (now === null || !Number.isFinite(now))
        return { name, before, now: null, behind: null, failed: true };
      const behind = better === 'higher' ? 1 - now / before : now / before - 1;
      // computed shares have rounding errors
      return { name, before, now, behind, failed: behind >= tolerance - 1e-9 };
    }),
    ...measured
      .filter(({ name }) => !known.has(name))
      .map(({ name, value }) => ({ name, before: null, now: value, behind: null, failed: false })),
  ];
}

/** The better value of each figure of two measurements. */
export function betterOf(first: readonly Figure[], second: readonly Figure[]): Figure[] {
  const again = new Map(second.map((figure) => [figure.name, figure]));
  return first.map((figure) => {
    const other = again.get(figure.name);
    if (other === undefined) return figure;
    const isBetter = figure.better === 'higher' ? other.value > figure.value : other.value < figure.value;
    return isBetter ? other : figure;
  });
}

export function renderComparisons(comparisons: readonly Comparison[]): string {
  const lines = comparisons.map(({ name, before, now, behind, failed }) => {
    const change = behind === null ? '' : `${behind > 0 ? '-' : '+'}${Math.abs(behind * 100).toFixed(0)} %`;
    return `| ${name} | ${shown(before)} | ${shown(now)} | ${change} | ${failed ? 'BEHIND' : 'right'} |`;
  });
  return ['| ratio | baseline | now | change | |', '|---|---|---|---|---|', ...lines].join('\n');
}

function shown(value: number | null): string {
  return value === null ? '-' : value.toFixed(value < 3 ? 3 : 1);
}
