import type { JSX } from 'preact';

/** How far something is. */
export function ProgressBar({
  label,
  done,
  total,
}: {
  /** What it is the progress of, for screen readers. */
  readonly label: string;
  readonly done: number;
  /** null when nobody knows. */
  readonly total: number | null;
}): JSX.Element {
  // without max an empty file would be at 0 of 0
  return total === null ? (
    <progress aria-label={label} />
  ) : (
    <progress aria-label={label} value={total === 0 ? 1 : done} max={total === 0 ? 1 : total} />
  );
}
