import type { JSX } from 'preact';
import { formatNumber } from './format.ts';

export interface ProgressProps {
  /** The work in progress, for screen readers. */
  readonly label: string;
  readonly done: number;
  /** null when nobody knows. */
  readonly total: number | null;
}

export function ProgressBar({ label, done, total }: ProgressProps): JSX.Element {
  if (total === null) return <progress aria-label={label} />;
  // without max an empty file would be at 0 of 0
  return <progress aria-label={label} value={total === 0 ? 1 : Math.min(done, total)} max={total || 1} />;
}

/** The same with its figures below. */
export function ProgressNote(props: ProgressProps): JSX.Element {
  const { done, total } = props;
  return (
    <>
      <ProgressBar {...props} />
      <p class="quiet" role="status">
        {formatNumber(done)} {total === null ? 'so far' : `of ${formatNumber(total)}`}
      </p>
    </>
  );
}
