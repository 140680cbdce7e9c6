import type { JSX } from 'preact';
import { formatSince, formatTime } from './format.ts';

/** A relative time, with the exact time as its tooltip. */
export function Time({ date }: { readonly date: string | null }): JSX.Element {
  if (date === null) return <span class="quiet">never</span>;
  return (
    <time class="nowrap" dateTime={date} title={formatTime(date)}>
      {formatSince(date)}
    </time>
  );
}
